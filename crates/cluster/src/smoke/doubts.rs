//! What a first look makes doubtful, and what is still doubtful after some rounds.

use super::criteria::{RETRANSMIT_LIMIT, TOLERANCE, judged_from};
use super::noise::Packets;
use super::outcome::Outcome;
use super::repeated::{Doubts, spread};
use super::slow_link::{is_slow_link, slowest, thin, unlike};
use super::straggler::{longest_own, slowest_own, straggles};

/// What a first look makes doubtful: it is measured again before it is judged.
pub(super) fn doubts(outcome: &Outcome) -> Doubts {
    Doubts {
        links: unlike(&outcome.links) || thin(outcome).is_some(),
        ring: beneath_path(outcome),
        loss: outcome.network.packets.iter().flatten().any(|sent| sent.part() > Some(RETRANSMIT_LIMIT)),
        own: longest_own(outcome),
    }
}

/// What is still doubtful after some rounds. Up to ten rounds count with their whole range, which only
/// widens: what is not slow after some of them will not be slow after more.
pub(super) fn still(outcome: &Outcome, doubts: Doubts) -> Doubts {
    let repeated = &outcome.network.repeated;
    let lossless = |packets: &Packets| packets.interval().high < RETRANSMIT_LIMIT;
    Doubts {
        links: doubts.links && slowest(outcome).is_none_or(|slowest| is_slow_link(outcome, &slowest)),
        ring: doubts.ring
            && spread(&repeated.ring)
                .zip(spread(&repeated.path))
                .is_none_or(|(ring, path)| ring.is_below(TOLERANCE, path)),
        loss: doubts.loss && !repeated.paced.iter().all(lossless),
        own: doubts.own && slowest_own(outcome).is_none_or(|(_, longest, usual)| straggles(longest, usual)),
    }
}

/// Whether the ring was slower than its sockets at first sight.
fn beneath_path(outcome: &Outcome) -> bool {
    outcome.results.last().zip(outcome.expected.as_ref()).is_some_and(|(last, expected)| {
        last.bytes >= judged_from(outcome) && last.bus < expected.bus * expected.tolerance
    })
}
