//! A rank that takes longer than the others for its own part.

use super::bandwidth::median;
use super::criteria::{JUDGED_FROM_BYTES, ROUNDS_MIN};
use super::found::Found;
use super::noise::{Interval, middle, others};
use super::outcome::Outcome;
use super::repeated::spreads;
use diagnostic::Fix;

/// From this many seconds on a rank's own part is judged whatever its size.
const OWN_JUDGED_FROM_SECONDS: f64 = 0.5;
/// How many times as long as the others a rank may take for its own part.
const STRAGGLER_RATIO: f64 = 2.5;

/// The rank that took longest for its own part, and how long.
fn longest<T: Copy>(own: &[T], long: impl Fn(&T) -> f64) -> Option<(usize, T)> {
    own.iter().copied().enumerate().max_by(|one, other| long(&one.1).total_cmp(&long(&other.1)))
}

/// Whether a rank's own part took longer than that of the others at first sight.
pub(super) fn longest_own(outcome: &Outcome) -> bool {
    let own = &outcome.network.own;
    let large = outcome.results.last().is_some_and(|last| last.bytes >= JUDGED_FROM_BYTES)
        || longest(own, |own| *own).is_some_and(|(_, longest)| longest >= OWN_JUDGED_FROM_SECONDS);
    longest(own, |own| *own).is_some_and(|(rank, longest)| {
        let others = own.iter().enumerate().filter(|(other, _)| *other != rank);
        large && longest > median(&others.map(|(_, own)| *own).collect::<Vec<_>>()) * STRAGGLER_RATIO
    })
}

/// The rank whose own part took longest in the repeated rounds, how long, and how long the others took.
pub(super) fn slowest_own(outcome: &Outcome) -> Option<(usize, Interval, Interval)> {
    let own = spreads(&outcome.network.repeated.own)?;
    let (rank, longest) = longest(&own, |own| own.low)?;
    Some((rank, longest, middle(&others(&own, rank))))
}

pub(super) fn straggles(longest: Interval, usual: Interval) -> bool {
    usual.is_below(1.0 / STRAGGLER_RATIO, longest)
}

/// A rank whose own part takes longer than that of the others: they all wait for it.
pub(super) fn straggler(outcome: &Outcome) -> Option<Found> {
    let (rank, longest, usual) = slowest_own(outcome)?;
    let sampled = outcome.network.repeated.own[rank].len() >= ROUNDS_MIN;
    (sampled && straggles(longest, usual)).then(|| {
        let name = outcome.ranks.get(rank).map_or("", String::as_str);
        Found::Slow(
            format!(
                "{name} takes {:.1} times as long as the others to write and check the same numbers: its \
                    CPU or memory is busy, limited or slow",
                (longest.low + longest.high) / (usual.low + usual.high)
            ),
            Some(Fix::safe(
                "Find what else runs on that machine, and the CPU limit of its container:",
                &["top", "docker inspect --format '{{.HostConfig.NanoCpus}}' NODE", "envdoc check"],
            )),
        )
    })
}
