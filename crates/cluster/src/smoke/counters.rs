//! What the kernel counts of a rank: TCP segments of its network namespace, and the time of its threads.

use std::path::Path;

use super::noise::Packets;

/// TCP segments that this network namespace has sent, and those of them that it sent again because they
/// were lost (RFC 4022: tcpOutSegs, tcpRetransSegs); `None` where the kernel does not tell. What a receiver
/// reports as a duplicate (RFC 2883, TCPDSACKRecvSegs) was not lost: a receiver that waits for a processor
/// acknowledges late, and Linux sends a tail loss probe (RFC 8985) for nothing.
pub(super) fn segments() -> Option<Packets> {
    let text = |file: &str| host::file::read(Path::new(file)).ok()?;
    let snmp = text("/proc/net/snmp")?;
    let netstat = text("/proc/net/netstat").unwrap_or_default();
    packets(&snmp, &netstat)
}

pub(crate) fn packets(snmp: &str, netstat: &str) -> Option<Packets> {
    let of = |name| counted(snmp, "Tcp: ", name);
    let ext = |name| counted(netstat, "TcpExt: ", name);
    let needless = ext("TCPDSACKRecvSegs").or_else(|| ext("TCPDSACKRecv")).unwrap_or(0);
    Some(Packets { sent: of("OutSegs")?, resent: of("RetransSegs")?.saturating_sub(needless) })
}

/// A count of a file with a line of names and one of numbers for each protocol.
fn counted(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let index = names.split(' ').position(|other| other == name)?;
    numbers.split(' ').nth(index)?.parse().ok()
}

/// The segments since then.
pub(super) fn segments_since(before: Option<Packets>) -> Option<Packets> {
    let (before, now) = before.zip(segments())?;
    Some(Packets {
        sent: now.sent.saturating_sub(before.sent),
        resent: now.resent.saturating_sub(before.resent),
    })
}

/// What the scheduler gave this thread since it began, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThreadTimes {
    ran: f64,
    waited: f64,
}

impl ThreadTimes {
    /// Of this thread; `None` where the kernel does not tell (CONFIG_SCHED_INFO).
    pub(super) fn now() -> Option<ThreadTimes> {
        let text = host::file::read(Path::new("/proc/thread-self/schedstat")).ok()??;
        let mut nanoseconds = text.split_whitespace().map(str::parse::<u64>);
        let mut seconds = || Some(nanoseconds.next()?.ok()? as f64 / 1e9);
        Some(ThreadTimes { ran: seconds()?, waited: seconds()? })
    }

    /// Seconds since then in which this thread was ready to run and waited for a processor.
    pub(super) fn waited_since(before: Option<ThreadTimes>) -> f64 {
        before.zip(ThreadTimes::now()).map_or(0.0, |(before, now)| (now.waited - before.waited).max(0.0))
    }
}

/// Seconds that this thread has run, or was ready to run and waited for a processor; `None` where the kernel
/// does not tell.
pub(super) fn busy_seconds() -> Option<f64> {
    ThreadTimes::now().map(|times| times.ran + times.waited)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_computes_is_busy_and_one_that_sleeps_is_not() {
        let before = busy_seconds().unwrap();
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        let slept = busy_seconds().unwrap() - before;
        let awake = start.elapsed().as_secs_f64() - 0.25;
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            std::hint::spin_loop();
        }
        let computed = busy_seconds().unwrap() - before - slept;
        assert!(computed > 0.2 && slept < awake, "{computed} {slept} {awake}");
    }

    #[test]
    fn spurious_retransmits_are_subtracted() {
        let snmp = "Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 500000 9848\n";
        let netstat =
            "TcpExt: TCPDSACKRecv TCPDSACKRecvSegs\nTcpExt: 9733 9762\nIpExt: InNoRoutes\nIpExt: 0\n";
        assert_eq!(packets(snmp, netstat), Some(Packets { sent: 500_000, resent: 86 }));
        let older = "TcpExt: TCPDSACKRecv\nTcpExt: 9733\n";
        assert_eq!(packets(snmp, older), Some(Packets { sent: 500_000, resent: 115 }));
        assert_eq!(packets(snmp, ""), Some(Packets { sent: 500_000, resent: 9848 }));
        assert_eq!(packets("", netstat), None);
    }

    #[test]
    fn segments_are_counted() {
        let before = segments().unwrap();
        assert!(before.resent <= before.sent);
        assert!(segments_since(Some(before)).is_some());
        assert_eq!(segments_since(None), None);
    }
}
