//! The phase `bandwidth`, and all-reduces of one size.

use std::time::Instant;

use super::PhaseRunner;
use crate::smoke::bandwidth::{bus, median, size};
use crate::smoke::criteria::JUDGED_FROM_BYTES;
use crate::smoke::outcome::{Measured, PhaseFailed};
use crate::smoke::phase::PhaseId;
use crate::smoke::rank_task::{Answer, Task};
use crate::smoke::wrong_elements::WrongElements;
use diagnostic::units::rate;

/// The longest that one all-reduce of the sweep may take, in seconds: what would take longer is left out, and
/// said.
const ALL_REDUCE_LIMIT_SECONDS: f64 = 2.0;
/// Seconds that the rounds of one size should take together.
const SECONDS_PER_SIZE: f64 = 0.2;
/// The longest that a rank may take to write and check the numbers of one size, in seconds, before larger
/// ones are left out: the others wait for it.
const OWN_LIMIT_SECONDS: f64 = 20.0;
/// Timed rounds of the size that is tried before a larger first one.
const TRIAL_ROUNDS: usize = 3;

impl PhaseRunner<'_> {
    /// Bandwidth over size.
    pub(super) async fn sweep(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        let trial = self.trial(start).await?;
        let mut last = trial.map_or((0_usize, 0.0), |trial| (trial.bytes, trial.seconds));
        for bytes in &self.options.sizes {
            self.progress.phase(PhaseId::Bandwidth, &format!("bandwidth of {}", size(*bytes)));
            let guess = guess(last, *bytes);
            if let Some(why) = self.too_long(last, *bytes) {
                let mut remark = format!("sizes from {} up are skipped: {why}", size(*bytes));
                if let Some(trial) = trial.filter(|_| self.outcome.results.is_empty()) {
                    remark += &format!("; {} was measured instead", size(trial.bytes));
                    self.outcome.results.push(trial);
                }
                self.outcome.remarks.push(remark);
                self.outcome.network.skipped_from = Some(*bytes);
                break;
            }
            let rounds = rounds(last, *bytes, self.options.iterations);
            // Before these one is checked, over the same memory: that is warm-up enough where each takes
            // long.
            let warmup = if guess > SECONDS_PER_SIZE / 5.0 { 0 } else { rounds.min(5) };
            let measured =
                self.reduce(PhaseId::Bandwidth, start, bytes / size_of::<f32>(), warmup, rounds).await?;
            last = (*bytes, measured.seconds);
            self.outcome.results.push(measured);
        }
        let message = match self.outcome.results.last() {
            Some(last) => format!("{} busbw at {}", rate(last.bus), size(last.bytes)),
            None => "no size was requested".into(),
        };
        self.outcome.finish_phase(PhaseId::Bandwidth, start, Vec::new(), &message)
    }

    /// A size that is only tried before a first one that is larger, to know how long that will take.
    async fn trial(&mut self, start: Instant) -> Result<Option<Measured>, PhaseFailed> {
        let Some(first) = self.options.sizes.first().copied() else { return Ok(None) };
        if first <= JUDGED_FROM_BYTES || self.too_long((0, 0.0), first).is_some() {
            return Ok(None);
        }
        let elements = JUDGED_FROM_BYTES / size_of::<f32>();
        self.reduce(PhaseId::Bandwidth, start, elements, 0, TRIAL_ROUNDS).await.map(Some)
    }

    /// Why a size would take too long.
    fn too_long(&self, last: (usize, f64), bytes: usize) -> Option<String> {
        let carried = self.outcome.expected.as_ref().map_or(f64::INFINITY, |expected| expected.bus);
        // Small data says little of large.
        let least = bus(bytes, 1.0, self.endpoints.len()) / carried;
        if least > ALL_REDUCE_LIMIT_SECONDS {
            return Some(format!("one all-reduce would take about {least:.0} s"));
        }
        let seconds = guess(last, bytes);
        let own = self.outcome.network.own.iter().copied().fold(0.0, f64::max);
        let own = guess((last.0, own), bytes);
        if last.0 <= 1 << 20 {
            None
        } else if seconds > ALL_REDUCE_LIMIT_SECONDS * 2.0 {
            Some(format!("one all-reduce would take about {seconds:.0} s"))
        } else {
            (own > OWN_LIMIT_SECONDS).then(|| {
                format!("the slowest rank would take about {own:.0} s to write and check its numbers")
            })
        }
    }

    /// One size on all ranks.
    pub(super) async fn reduce(
        &mut self,
        name: PhaseId,
        start: Instant,
        elements: usize,
        warmup: usize,
        iterations: usize,
    ) -> Result<Measured, PhaseFailed> {
        let corrupt = self.options.corrupt;
        let task = |rank: usize| Task::AllReduce {
            elements,
            warmup,
            iterations,
            corrupt: corrupt.filter(|(at, index)| *at == rank && *index < elements).map(|(_, index)| index),
        };
        let answers = self.each(task, name, start).await?;
        let (mut wrong, mut rounds) = (WrongElements::of(elements), vec![0.0_f64; iterations]);
        self.outcome.network.own = vec![0.0; self.endpoints.len()];
        self.outcome.network.busy = None;
        for (rank, (endpoint, answer)) in self.endpoints.iter().zip(answers).enumerate() {
            let Answer::Reduced { seconds, own, busy, wrong: here, first_wrong } = answer else { continue };
            self.outcome.network.own[rank] = own;
            let busiest = self.outcome.network.busy;
            self.outcome.network.busy = busiest.into_iter().chain(busy).reduce(f64::max);
            for (round, seconds) in rounds.iter_mut().zip(seconds) {
                *round = round.max(seconds);
            }
            wrong.add(&endpoint.node, &endpoint.node, here, first_wrong);
        }
        let wrong = wrong.check(name, start, &mut self.outcome)?;
        Ok(Measured::new(elements * size_of::<f32>(), median(&rounds), self.endpoints.len(), wrong))
    }
}

/// Timed rounds of a size: as many as take [`SECONDS_PER_SIZE`], estimated from the size before, or as
/// `wanted`.
pub(in crate::smoke) fn rounds(last: (usize, f64), bytes: usize, wanted: Option<usize>) -> usize {
    let guess = guess(last, bytes);
    wanted.unwrap_or(if guess > 0.0 { (SECONDS_PER_SIZE / guess).clamp(3.0, 50.0) as usize } else { 20 })
}

/// How long a size takes, after the time of the size before.
fn guess(last: (usize, f64), bytes: usize) -> f64 {
    last.1 * (bytes as f64 / last.0.max(1) as f64)
}
