//! What the kernel counts in one network namespace: segments with a wrong checksum, duplicates, changed
//! order, and how full the table of connections is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::worker::{Failure, Why};

/// The files of the kernel's counts.
pub(super) const SNMP: &str = "/proc/net/snmp";
pub(super) const SNMP6: &str = "/proc/net/snmp6";

/// Counts since the namespace was made; `None` where this kernel has no such count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// TCP segments that arrived.
    pub tcp_in: Option<u64>,
    /// TCP segments and UDP datagrams that arrived with a wrong checksum: their content was changed on the
    /// way (`InCsumErrors`).
    pub corrupted: Option<u64>,
    /// Segments that arrived here twice, as this side tells the sender (`TCPDSACKOldSent`).
    pub duplicates: Option<u64>,
    /// Segments that came before an earlier one (`TCPOFOQueue`).
    pub out_of_order: Option<u64>,
    /// Connections in the table of the firewall, and how many it may have.
    pub conntrack: Option<(u64, u64)>,
    /// Packets that were dropped because that table was full.
    pub conntrack_dropped: Option<u64>,
}

impl Counters {
    /// What was counted after `before`.
    pub fn since(&self, before: &Counters) -> Counters {
        let rise = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Counters {
            tcp_in: rise(self.tcp_in, before.tcp_in),
            corrupted: rise(self.corrupted, before.corrupted),
            duplicates: rise(self.duplicates, before.duplicates),
            out_of_order: rise(self.out_of_order, before.out_of_order),
            conntrack: self.conntrack,
            conntrack_dropped: rise(self.conntrack_dropped, before.conntrack_dropped),
        }
    }

    /// Datagrams that programs have received, of IPv4 and IPv6.
    pub(crate) fn udp_in(snmp: &str, six: &str) -> Option<u64> {
        let four = pair(snmp, "Udp:", "InDatagrams")?;
        Some(four.saturating_add(single(six, "Udp6InDatagrams").unwrap_or_default()))
    }

    /// Connections and their limit, where the table is full.
    pub fn full_conntrack(&self) -> Option<(u64, u64)> {
        self.conntrack.filter(|(count, most)| *most > 0 && count >= most)
    }
}

pub(super) fn read() -> Result<Counters, Failure> {
    let text = |path: &str| host::file::read(Path::new(path)).ok().flatten();
    let Some(snmp) = text(SNMP) else {
        return Err(Failure { why: Why::NotFound, message: format!("cannot read {SNMP}") });
    };
    let six = text(SNMP6).unwrap_or_default();
    let netstat = text("/proc/net/netstat").unwrap_or_default();
    let number = |path: &str| text(path)?.trim().parse::<u64>().ok();
    let conntrack = number("/proc/sys/net/netfilter/nf_conntrack_count")
        .zip(number("/proc/sys/net/netfilter/nf_conntrack_max"));
    let dropped = text("/proc/net/stat/nf_conntrack").and_then(|table| conntrack_dropped(&table));
    Ok(Counters { conntrack, conntrack_dropped: dropped, ..of(&snmp, &six, &netstat) })
}

pub(crate) fn of(snmp: &str, six: &str, netstat: &str) -> Counters {
    let wrong = [
        pair(snmp, "Tcp:", "InCsumErrors"),
        pair(snmp, "Udp:", "InCsumErrors"),
        single(six, "Udp6InCsumErrors"),
    ];
    let known = wrong.into_iter().flatten();
    Counters {
        tcp_in: pair(snmp, "Tcp:", "InSegs"),
        corrupted: known.into_iter().reduce(u64::saturating_add),
        duplicates: pair(netstat, "TcpExt:", "TCPDSACKOldSent"),
        out_of_order: pair(netstat, "TcpExt:", "TCPOFOQueue"),
        ..Counters::default()
    }
}

/// A line of names and a line of numbers, both after the same word.
fn pair(text: &str, word: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(word));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let index = names.split_whitespace().position(|other| other == name)?;
    numbers.split_whitespace().nth(index)?.parse().ok()
}

/// UDP over IPv6 has a line for each count.
fn single(text: &str, name: &str) -> Option<u64> {
    let mut words = text.lines().map(str::split_whitespace);
    words.find_map(|mut line| (line.next()? == name).then(|| line.next()?.parse().ok())?)
}

/// One line for each processor, in hexadecimal; the first line has the names.
pub(crate) fn conntrack_dropped(table: &str) -> Option<u64> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next()?.split_whitespace().collect();
    let places: Vec<usize> = ["drop", "early_drop"]
        .into_iter()
        .filter_map(|wanted| names.iter().position(|name| *name == wanted))
        .collect();
    let of = |line: &str| -> u64 {
        let numbers: Vec<&str> = line.split_whitespace().collect();
        let at = |index: &usize| u64::from_str_radix(numbers.get(*index)?, 16).ok();
        places.iter().filter_map(at).fold(0, u64::saturating_add)
    };
    (!places.is_empty()).then(|| lines.map(of).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Tcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 20457 20991 12 7 3 7
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti
Udp: 403 0 2 401 0 0 2 0
UdpLite: InDatagrams InCsumErrors
UdpLite: 0 0
";
    const NETSTAT: &str = "TcpExt: SyncookiesSent TCPOFOQueue TCPDSACKOldSent
TcpExt: 0 31 5
IpExt: InNoRoutes
IpExt: 0
";

    #[test]
    fn counts_are_read_by_their_names() {
        let six = "Udp6InDatagrams                 \t9\nUdp6InCsumErrors                \t1\n";
        let counters = of(SNMP, six, NETSTAT);
        assert_eq!((counters.tcp_in, counters.corrupted), (Some(20_457), Some(10)));
        assert_eq!((counters.duplicates, counters.out_of_order), (Some(5), Some(31)));
        assert_eq!(of("", "", ""), Counters::default());
        assert_eq!((Counters::udp_in(SNMP, six), Counters::udp_in("", six)), (Some(412), None));
    }

    #[test]
    fn increase_is_unknown_if_either_reading_is_missing() {
        let before = of(SNMP, "", NETSTAT);
        let now = Counters { corrupted: Some(12), duplicates: None, ..before };
        let rise = now.since(&before);
        assert_eq!((rise.corrupted, rise.duplicates, rise.out_of_order), (Some(3), None, Some(0)));
    }

    #[test]
    fn detects_full_conntrack_table() {
        let full = Counters { conntrack: Some((65_536, 65_536)), ..Counters::default() };
        assert_eq!(full.full_conntrack(), Some((65_536, 65_536)));
        assert_eq!(Counters { conntrack: Some((900, 65_536)), ..full }.full_conntrack(), None);
        let table = "entries  clashres found new invalid ignore delete chainlength insert insert_failed \
            drop early_drop icmp_error expect_new
00000003  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000000a \
    00000001 00000000 00000000
00000003  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000010 \
    00000000 00000000 00000000
";
        assert_eq!(conntrack_dropped(table), Some(27));
        assert_eq!(conntrack_dropped("entries\n00000003\n"), None);
    }

    #[test]
    fn counts_are_added_without_overflow() {
        let most = u64::MAX;
        let snmp = format!("Udp: InDatagrams InCsumErrors\nUdp: {most} {most}\n");
        let six = "Udp6InDatagrams 1\nUdp6InCsumErrors 1\n";
        assert_eq!(Counters::udp_in(&snmp, six), Some(most));
        assert_eq!(of(&snmp, six, "").corrupted, Some(most));
        assert_eq!(conntrack_dropped("drop early_drop\nffffffffffffffff 1\n2 1\n"), Some(most));
    }
}
