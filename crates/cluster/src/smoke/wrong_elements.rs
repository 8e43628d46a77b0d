//! Elements that an all-reduce got wrong.

use std::time::Instant;

use super::outcome::{Outcome, PhaseFailed, Verdict};
use super::phase::PhaseId;

/// Elements that were not the sum of all ranks, rank by rank.
pub(super) struct WrongElements {
    elements: usize,
    count: usize,
    failed: Vec<(String, String)>,
}

impl WrongElements {
    /// None yet, of so many elements a rank.
    pub(super) fn of(elements: usize) -> WrongElements {
        WrongElements { elements, count: 0, failed: Vec::new() }
    }

    /// Those of a rank.
    pub(super) fn add(&mut self, node: &str, rank: &str, count: usize, first: Option<usize>) {
        if count > 0 {
            let (elements, first) = (self.elements, first.unwrap_or_default());
            let message =
                format!("{rank}: {count} of {elements} elements are wrong, the first at index {first}");
            self.failed.push((node.to_owned(), message));
        }
        self.count += count;
    }

    /// Fails the phase where there is any. How many there are.
    pub(super) fn check(
        self,
        phase: PhaseId,
        start: Instant,
        outcome: &mut Outcome,
    ) -> Result<usize, PhaseFailed> {
        if self.count > 0 {
            outcome.verdict = Verdict::Wrong;
            outcome.finish_phase(phase, start, self.failed, "")?;
        }
        Ok(self.count)
    }
}
