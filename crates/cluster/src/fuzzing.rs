//! What containers, kernels and other machines say, through the readers that are private. The targets in
//! `fuzz/` call this, and nothing else does.

use memchr::memmem::Finder;

use crate::flow::datagram::{self, BEGINNING};
use crate::flow::{Counters, counters, gossip, watch};
use crate::jobs::Lines;
use crate::lock::Holder;
use crate::record::Recorded;
use crate::smoke::counters::packets;
use crate::watchdog::sample::Sample;
use crate::worker::{auth, dns};
use crate::{activity, bootstrap, compare, hosts_file, program_line, sshd, up};

/// A run and the name of one of its flows.
const RUN: &str = "abcdefabcdefabcdefabcdef";
const FLOW: &str = "abcdefabcdefabcdefabcdef00000001";

/// A packet on an interface, as it is and with a datagram of this run behind it.
///
/// # Panics
///
/// Where a datagram of this run is read as another one.
pub fn packet(packet: &[u8]) {
    let Ok(secret) = auth::of_this_run() else { return };
    gossip::ends(packet);
    let finder = Finder::new(BEGINNING);
    watch::read(packet, &finder, RUN, &secret);
    datagram::read(packet, &secret);
    let mut whole = packet.to_vec();
    whole.extend_from_slice(&datagram::write(FLOW, 7, &secret));
    if let Some(found) = watch::read(&whole, &finder, RUN, &secret) {
        assert!(found.flow.starts_with(RUN), "{found:?}");
    }
}

/// What the kernel's files and the scripts that run in a container print.
pub fn printed(text: &str) {
    let parts: Vec<&str> = text.splitn(3, "\n\n").collect();
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let counted = counters::of(part(0), part(1), part(2));
    let _ = counted.since(&Counters::default());
    Counters::udp_in(part(0), part(1));
    counters::conntrack_dropped(text);
    Sample::parse(text);
    let _ = activity::of(text, true).to_string();
    for name in ["nofile", "memlock", "shm", "stack"] {
        up::limits::own_limit(text, name);
    }
    program_line::read::<program_line::Stopped>(text);
    packets(part(0), part(1));
    sshd::fault(text);
    text.lines().for_each(|line| drop(bootstrap::understood(line)));
    hosts_file::line_of(text, "node2");
}

/// What a DNS server sends.
pub fn dns_answer(message: &[u8]) {
    dns::addresses(message, 7);
}

/// What a job prints, in pieces of `size` bytes.
///
/// # Panics
///
/// Where the lines differ from those of the output in one piece.
pub fn job_output(bytes: &[u8], size: usize) {
    let of = |size: usize| -> Vec<String> {
        let mut lines = Lines::default();
        let mut all: Vec<String> = bytes.chunks(size.max(1)).flat_map(|piece| lines.add(piece)).collect();
        all.extend(lines.rest());
        all
    };
    assert_eq!(of(size), of(usize::MAX));
}

/// Labels of volumes and containers: the record of a cluster's machines, the holder of a lock, and the
/// digests of its settings.
///
/// # Panics
///
/// Where the record or the holder is not read as it is written.
pub fn label(text: &str) {
    if let Ok(recorded) = serde_json::from_str::<Vec<Recorded>>(text) {
        let written = serde_json::to_string(&recorded).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Vec<Recorded>>(&written).ok(), Some(recorded));
    }
    if let Ok(holder) = serde_json::from_str::<Holder>(text) {
        let written = serde_json::to_string(&holder).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Holder>(&written).ok(), Some(holder));
    }
    compare::names(Some(&text.to_owned()), &std::collections::BTreeMap::new());
}
