//! What containers, kernels and other machines say, through the readers that are private. The targets in
//! `fuzz/` call this, and nothing else does.

use memchr::memmem::Finder;

use crate::flow::datagram::{self, BEGINNING};
use crate::flow::{Counters, counters, gossip, watch};
use crate::watchdog::sample::Sample;
use crate::worker::auth;
use crate::{activity, program_line, up};

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
}
