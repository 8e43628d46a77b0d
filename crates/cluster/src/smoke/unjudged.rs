//! What a run leaves open: sizes that were left out, rounds that were too few, a phase that ended early.

use super::bandwidth::size;
use super::judge::{JUDGED_FROM_BYTES, ROUNDS_MIN, judge, still};
use super::outcome::{Outcome, Verdict};

/// A run that ended in the phase `repeat`: what was seen before counts, and why it ended is not forgotten.
pub fn judge_interrupted(outcome: &mut Outcome) {
    let (verdict, message, fixes) =
        (outcome.verdict, outcome.message.clone(), std::mem::take(&mut outcome.fix));
    judge(outcome);
    match (outcome.verdict, verdict) {
        // The stall alone may be the machine's; what makes the run slow was seen in rounds that ended.
        (Verdict::Slow, Verdict::Unknown) => outcome.remarks.push(message),
        (Verdict::Slow, _) => {
            outcome.message = format!("{message}; {}", outcome.message);
            outcome.verdict = verdict;
        }
        _ => (outcome.verdict, outcome.message) = (verdict, message),
    }
    outcome.fix.splice(..0, fixes);
}

/// Where larger sizes would take too long, this one shows too that the ring is as fast as its path, though
/// not that it is slow.
const SHOWN_FROM_BYTES: usize = 4 << 20;

/// From this size on a bandwidth is judged, in bytes.
pub(super) fn judged_from(outcome: &Outcome) -> usize {
    match outcome.network.skipped_from {
        Some(from) if from <= JUDGED_FROM_BYTES => SHOWN_FROM_BYTES,
        _ => JUDGED_FROM_BYTES,
    }
}

/// Whether the sizes that tell of bandwidth were left out.
pub(super) fn unmeasured(outcome: &Outcome) -> Option<String> {
    let from = outcome.network.skipped_from.filter(|from| *from <= JUDGED_FROM_BYTES)?;
    let largest = outcome.results.last().map_or(0, |last| last.bytes);
    (largest < SHOWN_FROM_BYTES).then(|| format!(
        "all-reduces from {} up would take too long here, and smaller ones do not show whether the ring is \
            as fast as its path",
        size(from)
    ))
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
    let few = few.into_iter().filter(|(still, rounds, _)| *still && *rounds < ROUNDS_MIN);
    few.map(|(_, rounds, what)| format!("{what}, and only {rounds} rounds could be repeated")).collect()
}
