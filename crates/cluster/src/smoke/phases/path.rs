//! The phase `path`: what the ring's links carry without any reducing.

use std::time::Instant;

use super::PhaseRunner;
use crate::smoke::criteria::TOLERANCE;
use crate::smoke::noise::Packets;
use crate::smoke::outcome::{Expected, PhaseFailed};
use crate::smoke::phase::PhaseId;
use crate::smoke::rank_task::{Answer, Task};
use diagnostic::units::rate;

/// The bytes that every rank sends at first and at most to find out what the path carries, and about how many
/// seconds that takes.
const STREAM_BYTES: (usize, usize) = (1 << 18, 64 << 20);
const STREAM_SECONDS: f64 = 0.3;
/// A round has at most so many times the bytes of the one before: what a shaper lets pass at once says little
/// of what it lets pass later.
const BYTES_GROWTH: usize = 8;
/// It is sent so often at most, and not again where the rate has grown by less than this factor, or where it
/// took so many seconds.
const STREAM_ROUNDS: usize = 8;
const STREAM_GROWTH: f64 = 1.1;
const SLOW_SECONDS: f64 = 1.0;

impl PhaseRunner<'_> {
    /// What the path carries without any reducing: the limit that the ring is held against.
    pub(super) async fn path(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Path, "the measured rate of the path");
        let mut best = vec![0.0_f64; self.endpoints.len()];
        let mut packets = vec![None; self.endpoints.len()];
        let mut bytes = STREAM_BYTES.0;
        let mut before = 0.0_f64;
        // The first finds the window of TCP small, and how much the others may send. On a long way the window
        // grows for longer.
        for round in 0..STREAM_ROUNDS {
            let streamed = self.stream_all(bytes, None, PhaseId::Path, start).await?;
            let longest = streamed.iter().map(|(rate, _)| bytes as f64 / rate).fold(0.0, f64::max);
            for (rank, (rate, now)) in streamed.into_iter().enumerate() {
                best[rank] = best[rank].max(rate);
                packets[rank] = packets[rank].map_or(now, |before: Packets| Some(before.and(now?)));
            }
            let slowest = best.iter().copied().fold(f64::INFINITY, f64::min);
            if round >= 2 && slowest < before * STREAM_GROWTH || longest > SLOW_SECONDS {
                break;
            }
            before = slowest;
            let most = STREAM_BYTES.1.min(bytes * BYTES_GROWTH);
            bytes = ((slowest * STREAM_SECONDS) as usize).clamp(STREAM_BYTES.0, most);
        }
        self.outcome.network.packets = packets;
        let slowest = best.iter().copied().fold(f64::INFINITY, f64::min);
        self.outcome.links = best;
        self.outcome.expected = Some(Expected {
            bus: slowest,
            tolerance: TOLERANCE,
            from: "the raw rate of the same sockets while all ranks send and receive".into(),
            measured: true,
        });
        self.outcome.finish_phase(
            PhaseId::Path,
            start,
            Vec::new(),
            &format!("{} on the slowest link", rate(slowest)),
        )
    }

    /// All links at once: what each rank receives, in bytes per second, and the segments that it sends.
    pub(super) async fn stream_all(
        &mut self,
        bytes: usize,
        rate: Option<f64>,
        phase: PhaseId,
        start: Instant,
    ) -> Result<Vec<(f64, Option<Packets>)>, PhaseFailed> {
        let task = Task::Stream { bytes, sends: true, receives: true, rate };
        let of = |answer| match answer {
            Answer::Streamed { seconds, packets, .. } => (bytes as f64 / seconds, packets),
            _ => (0.0, None),
        };
        Ok(self.all(task, phase, start).await?.into_iter().map(of).collect())
    }
}
