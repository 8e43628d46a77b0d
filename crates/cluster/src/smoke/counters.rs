//! What the kernel counts of a rank: TCP segments of its network namespace, and the time of its threads.

use std::path::Path;

use super::noise::Packets;

/// TCP segments that this network namespace has sent, and those of them that it sent again (RFC 4022:
/// tcpOutSegs, tcpRetransSegs); `None` where the kernel does not tell.
pub(super) fn segments() -> Option<Packets> {
    let text = host::file::read(Path::new("/proc/net/snmp")).ok()??;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let of = |name: &str| {
        let place = names.split(' ').position(|other| other == name)?;
        numbers.split(' ').nth(place)?.parse().ok()
    };
    Some(Packets { sent: of("OutSegs")?, resent: of("RetransSegs")? })
}

/// The segments since then.
pub(super) fn segments_since(before: Option<Packets>) -> Option<Packets> {
    let (before, now) = before.zip(segments())?;
    Some(Packets {
        sent: now.sent.saturating_sub(before.sent),
        resent: now.resent.saturating_sub(before.resent),
    })
}

/// Seconds that this thread has run, or was ready to run and waited for a processor; `None` where the kernel
/// does not tell (CONFIG_SCHED_INFO).
pub(super) fn busy_seconds() -> Option<f64> {
    let text = host::file::read(Path::new("/proc/thread-self/schedstat")).ok()??;
    let mut nanoseconds = text.split_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (nanoseconds.next()?.ok()?, nanoseconds.next()?.ok()?);
    Some(ran.saturating_add(waited) as f64 / 1e9)
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
    fn segments_are_counted() {
        let before = segments().unwrap();
        assert!(before.resent <= before.sent);
        assert!(segments_since(Some(before)).is_some());
        assert_eq!(segments_since(None), None);
    }
}
