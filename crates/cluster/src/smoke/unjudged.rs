//! What a run leaves open: sizes that were left out, rounds that were too few.

use super::bandwidth::size;
use super::criteria::{JUDGED_FROM_BYTES, ROUNDS_MIN, SHOWN_FROM_BYTES};
use super::doubts::still;
use super::found::less_load;
use super::outcome::Outcome;
use diagnostic::Fix;

/// Whether the sizes that tell of bandwidth were left out.
pub(super) fn unmeasured(outcome: &Outcome) -> Option<(String, Fix)> {
    let from = outcome.network.skipped_from?;
    let largest = outcome.results.last().map_or(0, |last| last.bytes);
    let message = format!(
        "all-reduces from {} up would take too long here, and smaller ones do not show whether the ring is \
            as fast as its path",
        size(from)
    );
    let fix = match from <= JUDGED_FROM_BYTES {
        true => less_load(),
        false => Fix::manual("Run the test again with smaller sizes: `--sizes 8-16M`"),
    };
    (largest < SHOWN_FROM_BYTES).then_some((message, fix))
}

/// What looked slow and was not measured often enough to judge it.
pub(super) fn unrepeated(outcome: &Outcome) -> Vec<String> {
    let repeated = &outcome.network.repeated;
    let still = still(outcome, repeated.doubts);
    let rounds = |series: &[Vec<f64>]| series.iter().map(Vec::len).min().unwrap_or_default();
    let few = [
        (still.links, rounds(&repeated.links), "a link looked slow"),
        (
            still.ring,
            repeated.ring.len().min(repeated.path.len()),
            "the all-reduce looked slower than its path",
        ),
        (still.own, rounds(&repeated.own), "a rank looked slower than the others"),
        (
            still.loss && repeated.paced.iter().all(|packets| packets.sent == 0),
            0,
            "packets were retransmitted at full rate",
        ),
    ];
    // The path was measured in every round, the all-reduce in none.
    let too_long = repeated.ring.is_empty() && repeated.path.len() >= ROUNDS_MIN;
    let few = few.into_iter().filter(|(still, rounds, _)| *still && *rounds < ROUNDS_MIN);
    few.map(|(_, rounds, what)| match rounds {
        0 if too_long => {
            format!("{what}, and {} would take too long here to measure it again", size(SHOWN_FROM_BYTES))
        }
        _ => format!("{what}, and only {rounds} rounds could be repeated"),
    })
    .collect()
}
