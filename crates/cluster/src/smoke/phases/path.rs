//! The phase `path`: what the ring's links carry without any reducing.

use std::time::Instant;

use super::PhaseRunner;
use crate::smoke::judge;
use crate::smoke::outcome::{Expected, PhaseFailed};
use crate::smoke::phase::PhaseId;
use crate::smoke::rank::{Answer, Task};

/// The most bytes that every rank sends to find out what the path carries, and about how many seconds that
/// takes.
const STREAM_LIMIT_BYTES: usize = 64 << 20;
const STREAM_SECONDS: f64 = 0.3;
/// It is sent so often at most, and not again where the rate has grown by less than this factor.
const STREAM_ROUNDS: usize = 8;
const STREAM_GROWTH: f64 = 1.1;

impl PhaseRunner<'_> {
    /// What the path carries without any reducing: the limit that the ring is held against.
    pub(super) async fn path(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Path, "the measured rate of the path");
        let mut best = vec![0.0_f64; self.places.len()];
        let mut resent = vec![None; self.places.len()];
        let mut bytes = 1 << 20;
        let mut before = 0.0_f64;
        // The first finds the window of TCP small, and how much the others may send. On a long way the window
        // grows for longer.
        for round in 0..STREAM_ROUNDS {
            let task = Task::Stream { bytes, sends: true, receives: true };
            let answers = self.all(task, PhaseId::Path, start).await?;
            for (rank, answer) in answers.into_iter().enumerate() {
                if let Answer::Streamed { seconds, resent: again } = answer {
                    best[rank] = best[rank].max(bytes as f64 / seconds);
                    resent[rank] = again;
                }
            }
            let slowest = best.iter().copied().fold(f64::INFINITY, f64::min);
            if round >= 2 && slowest < before * STREAM_GROWTH {
                break;
            }
            before = slowest;
            bytes = ((slowest * STREAM_SECONDS) as usize).clamp(1 << 18, STREAM_LIMIT_BYTES);
        }
        self.outcome.network.resent = resent;
        let slowest = best.iter().copied().fold(f64::INFINITY, f64::min);
        self.outcome.links = best;
        if judge::unlike(&self.outcome.links) {
            self.alone(bytes, start).await?;
        }
        self.outcome.expected = Some(Expected {
            bus: slowest,
            tolerance: judge::TOLERANCE,
            from: "the raw rate of the same sockets while all ranks send and receive".into(),
            measured: true,
        });
        self.outcome.finish_phase(
            PhaseId::Path,
            start,
            Vec::new(),
            &format!("{:.2} GB/s on the slowest link", slowest / 1e9),
        )
    }

    /// Links that differ, once more, each while the others rest: on busy processors the ways take each
    /// other's time.
    async fn alone(&mut self, bytes: usize, start: Instant) -> Result<(), PhaseFailed> {
        let world = self.places.len();
        let mut alone = vec![0.0_f64; world];
        for _ in 0..2 {
            for (to, best) in alone.iter_mut().enumerate() {
                let from = (to + world - 1) % world;
                let task = |rank| Task::Stream { bytes, sends: rank == from, receives: rank == to };
                let answers = self.each(task, PhaseId::Path, start).await?;
                if let Some(Answer::Streamed { seconds, .. }) = answers.get(to) {
                    *best = best.max(bytes as f64 / seconds);
                }
            }
        }
        self.outcome.network.alone = alone;
        Ok(())
    }
}
