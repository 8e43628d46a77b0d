//! The phase `repeat`: what looked slow is measured again before it is judged.

use std::time::{Duration, Instant};

use super::PhaseRunner;
use crate::smoke::bandwidth::median;
use crate::smoke::judge;
use crate::smoke::noise::{Packets, ROUNDS};
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::smoke::rank::{Answer, Task};
use crate::smoke::repeated::{Doubts, Repeated};

/// Seconds that one measurement of a round should take, and the bytes between which it stays: fewer are over
/// before the shaper of a slow link has begun.
const STREAM_SECONDS: f64 = 0.1;
const STREAM_BYTES: (usize, usize) = (1 << 18, 64 << 20);
/// The part of the path's rate at which losses are counted: a queue that overflows at full rate has room.
const PACE: f64 = 0.2;
/// Seconds of a round of that.
const PACED_SECONDS: f64 = 0.3;
/// All-reduces of a round.
const ITERATIONS: usize = 3;
/// The largest size that is summed again, in bytes, and the longest that it may have taken, in seconds.
const RING_LIMIT_BYTES: usize = 32 << 20;
const RING_LIMIT_SECONDS: f64 = 0.4;
/// After so long no further round begins.
const TIME_LIMIT: Duration = Duration::from_secs(20);

impl PhaseRunner<'_> {
    /// Measures again whatever is doubtful.
    pub(super) async fn repeat(&mut self) -> Result<(), PhaseFailed> {
        let doubts = judge::doubts(&self.outcome);
        if !doubts.any() {
            return Ok(());
        }
        let start = Instant::now();
        self.progress.phase(PhaseId::Repeat, "measuring again what looked slow");
        let world = self.places.len();
        let mut repeated = Repeated::default();
        if doubts.links {
            repeated.links = vec![Vec::new(); world];
            repeated.loopback = vec![Vec::new(); world];
        }
        if doubts.own {
            repeated.own = vec![Vec::new(); world];
        }
        if doubts.loss {
            repeated.paced = vec![Packets::default(); world];
            repeated.pace = self.slowest_link() * PACE;
        }
        let mut rounds = 0;
        while rounds < ROUNDS && start.elapsed() < TIME_LIMIT {
            self.round(doubts, &mut repeated, start).await?;
            rounds += 1;
        }
        self.outcome.network.alone = repeated.links.iter().map(|link| median(link)).collect();
        self.outcome.network.repeated = repeated;
        self.outcome.finish_phase(PhaseId::Repeat, start, Vec::new(), &format!("{rounds} rounds"))
    }

    async fn round(
        &mut self,
        doubts: Doubts,
        repeated: &mut Repeated,
        start: Instant,
    ) -> Result<(), PhaseFailed> {
        if doubts.links {
            self.links_alone(&mut repeated.links, start).await?;
            self.loopback(&mut repeated.loopback, start).await?;
        }
        if doubts.ring {
            let streamed =
                self.stream_all(self.sized(self.slowest_link()), None, PhaseId::Repeat, start).await?;
            repeated.path.extend(streamed.iter().map(|(rate, _)| *rate).reduce(f64::min));
        }
        if doubts.ring || doubts.own {
            self.ring_again(repeated, start).await?;
        }
        if doubts.loss {
            let bytes = (repeated.pace * PACED_SECONDS) as usize;
            let streamed = self.stream_all(bytes.max(1), Some(repeated.pace), PhaseId::Repeat, start).await?;
            for (all, (_, packets)) in repeated.paced.iter_mut().zip(streamed) {
                *all = all.and(packets.unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Each link while the others rest: on busy processors they take each other's time.
    async fn links_alone(&mut self, links: &mut [Vec<f64>], start: Instant) -> Result<(), PhaseFailed> {
        let world = self.places.len();
        for (to, rates) in links.iter_mut().enumerate() {
            let from = (to + world - 1) % world;
            let bytes = self.sized(self.outcome.links.get(to).copied().unwrap_or_default());
            let task = |rank| Task::Stream { bytes, sends: rank == from, receives: rank == to, rate: None };
            let answers = self.each(task, PhaseId::Repeat, start).await?;
            if let Some(Answer::Streamed { seconds, .. }) = answers.get(to) {
                rates.push(bytes as f64 / seconds);
            }
        }
        Ok(())
    }

    /// What the processors of each rank carry at this moment, without a network.
    async fn loopback(&mut self, ranks: &mut [Vec<f64>], start: Instant) -> Result<(), PhaseFailed> {
        let bytes = self.sized(0.0).max(4 << 20);
        let answers = self.each(|_| Task::Loopback { bytes }, PhaseId::Repeat, start).await?;
        for (rates, answer) in ranks.iter_mut().zip(answers) {
            if let Answer::Streamed { seconds, .. } = answer {
                rates.push(bytes as f64 / seconds);
            }
        }
        Ok(())
    }

    /// The ring once more, as large as is quickly done.
    async fn ring_again(&mut self, repeated: &mut Repeated, start: Instant) -> Result<(), PhaseFailed> {
        let quick = |bytes: usize, seconds: f64| bytes <= RING_LIMIT_BYTES && seconds <= RING_LIMIT_SECONDS;
        let results = self.outcome.results.iter().rev();
        let Some(bytes) =
            results.map(|one| (one.bytes, one.seconds)).find(|(bytes, seconds)| quick(*bytes, *seconds))
        else {
            return Ok(());
        };
        let measured = self.reduce(PhaseId::Repeat, start, bytes.0 / size_of::<f32>(), 0, ITERATIONS).await?;
        repeated.ring.push(measured.bus);
        repeated.busy.extend(self.outcome.network.busy);
        for (rounds, own) in repeated.own.iter_mut().zip(&self.outcome.network.own) {
            rounds.push(*own);
        }
        Ok(())
    }

    /// As many bytes as a link of this rate carries in a moment.
    fn sized(&self, rate: f64) -> usize {
        ((rate * STREAM_SECONDS) as usize).clamp(STREAM_BYTES.0, STREAM_BYTES.1)
    }

    fn slowest_link(&self) -> f64 {
        self.outcome.links.iter().copied().fold(f64::INFINITY, f64::min)
    }
}
