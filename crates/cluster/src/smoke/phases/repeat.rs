//! The phase `repeat`: what looked slow is measured again before it is judged.

use std::time::{Duration, Instant};

use super::PhaseRunner;
use crate::smoke::bandwidth::median;
use crate::smoke::criteria::ROUNDS_MIN;
use crate::smoke::doubts;
use crate::smoke::noise::{Packets, ROUNDS};
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::smoke::rank_task::{Answer, Task};
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
/// Seconds that the all-reduces of a round may take, with the ranks' own part: the largest size within it is
/// summed again. Where none is, the smallest one that is not a matter of latency.
const RING_SECONDS: f64 = 1.2;
/// See [`RING_SECONDS`], in bytes; from [`RING_BYTES`].0 on the ring is compared with its path.
const RING_BYTES: (usize, usize) = (4 << 20, 32 << 20);
/// A rank's own part is measured from this size on, in bytes.
const OWN_BYTES: usize = 1 << 18;
/// After so long no further round begins, but for those that a fault must be seen in.
const TIME_LIMIT: Duration = Duration::from_secs(15);

impl PhaseRunner<'_> {
    /// Measures again whatever is doubtful, for as long as it is.
    pub(super) async fn repeat(&mut self) -> Result<(), PhaseFailed> {
        let mut doubts = doubts::doubts(&self.outcome);
        if !doubts.any() {
            return Ok(());
        }
        let start = Instant::now();
        self.progress.phase(PhaseId::Repeat, "measuring again what looked slow");
        self.outcome.network.repeated = self.no_round(doubts);
        let (own, mut rounds) = (self.outcome.network.own.clone(), 0);
        let mut done = Ok(());
        while done.is_ok()
            && doubts.any()
            && rounds < ROUNDS
            && (rounds < ROUNDS_MIN || start.elapsed() < TIME_LIMIT)
        {
            let mut repeated = std::mem::take(&mut self.outcome.network.repeated);
            done = self.round(doubts, &own, &mut repeated, start).await;
            self.outcome.network.repeated = repeated;
            rounds += 1;
            doubts = doubts::still(&self.outcome, doubts);
        }
        let network = &mut self.outcome.network;
        network.alone = network.repeated.links.iter().map(|link| median(link)).collect();
        network.own = own;
        done?;
        if doubts.ring {
            self.outcome.network.usage = self.usage(start.elapsed()).await;
        }
        self.outcome.finish_phase(PhaseId::Repeat, start, Vec::new(), &format!("{rounds} rounds"))
    }

    /// Room for what is doubtful.
    fn no_round(&self, doubts: Doubts) -> Repeated {
        let world = self.endpoints.len();
        let mut repeated = Repeated { doubts, ..Repeated::default() };
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
        repeated
    }

    async fn round(
        &mut self,
        doubts: Doubts,
        own: &[f64],
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
            self.ring_again(own, repeated, start).await?;
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
        let world = self.endpoints.len();
        for (to, rates) in links.iter_mut().enumerate() {
            let from = (to + world - 1) % world;
            let bytes = self.sized(self.outcome.links.get(to).copied().unwrap_or_default());
            let task = |rank| Task::Stream { bytes, sends: rank == from, receives: rank == to, rate: None };
            let answers = self.each(task, PhaseId::Repeat, start).await?;
            let waited = |rank: usize| match answers.get(rank) {
                Some(Answer::Streamed { waited, .. }) => *waited,
                _ => 0.0,
            };
            if let Some(Answer::Streamed { seconds, .. }) = answers.get(to) {
                rates.push(carried(bytes, *seconds, waited(from) + waited(to)));
            }
        }
        Ok(())
    }

    /// What the processors of each rank carry at this moment, without a network.
    async fn loopback(&mut self, ranks: &mut [Vec<f64>], start: Instant) -> Result<(), PhaseFailed> {
        let bytes = self.sized(0.0).max(4 << 20);
        let answers = self.each(|_| Task::Loopback { bytes }, PhaseId::Repeat, start).await?;
        for (rates, answer) in ranks.iter_mut().zip(answers) {
            if let Answer::Streamed { seconds, waited, .. } = answer {
                rates.push(carried(bytes, seconds, waited));
            }
        }
        Ok(())
    }

    /// Runs the ring again with a small size.
    async fn ring_again(
        &mut self,
        own: &[f64],
        repeated: &mut Repeated,
        start: Instant,
    ) -> Result<(), PhaseFailed> {
        let own = own.iter().copied().fold(0.0, f64::max);
        let sizes: Vec<_> = self.outcome.results.iter().map(|one| (one.bytes, one.seconds)).collect();
        let Some(bytes) = quick(&with_comparable(&sizes), own) else { return Ok(()) };
        let measured = self.reduce(PhaseId::Repeat, start, bytes / size_of::<f32>(), 0, ITERATIONS).await?;
        if bytes >= RING_BYTES.0 {
            repeated.ring.push(measured.bus);
            repeated.busy.extend(self.outcome.network.busy);
        }
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

/// The least part of a stream's time that is left to the network.
const NETWORK_PART: f64 = 0.05;

/// Bytes per second of a link in a stream of `seconds`, of which its ranks waited `waited` seconds for a
/// processor: a link is not slow because nobody was there to send or to take its bytes.
fn carried(bytes: usize, seconds: f64, waited: f64) -> f64 {
    bytes as f64 / (seconds - waited).max(seconds * NETWORK_PART)
}

/// `sizes` with the seconds that each took, ascending; where none of them is between [`RING_BYTES`], because
/// only larger ones were requested, powers of two with their part of the time of the next larger one.
fn with_comparable(sizes: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let (least, most) = RING_BYTES;
    let larger = sizes.partition_point(|one| one.0 <= most);
    let (below, above) = sizes.split_at(larger);
    let (comparable, next) = (below.last().is_some_and(|one| one.0 >= least), above.first());
    let Some((bytes, seconds)) = next.filter(|_| !comparable) else { return sizes.to_vec() };
    let powers = std::iter::successors(Some(least), |size| size.checked_mul(2));
    let powers = powers.take_while(|size| *size <= most);
    let part = powers.map(|size| (size, seconds * size as f64 / *bytes as f64));
    below.iter().copied().chain(part).chain(above.iter().copied()).collect()
}

/// The size to sum again, in bytes: `sizes` with the seconds that each took, ascending, and the seconds that
/// the slowest rank took for its own part of the largest.
fn quick(sizes: &[(usize, f64)], own: f64) -> Option<usize> {
    let largest = sizes.last()?.0 as f64;
    let takes =
        |(bytes, seconds): (usize, f64)| own * bytes as f64 / largest + seconds * (ITERATIONS as f64 + 1.0);
    let fits = |one: &&(usize, f64)| one.0 <= RING_BYTES.1 && takes(**one) <= RING_SECONDS;
    let found = sizes.iter().rev().find(fits).map(|one| one.0).filter(|bytes| *bytes >= RING_BYTES.0);
    let smallest = |least: usize| sizes.iter().find(|one| one.0 >= least && one.0 <= RING_BYTES.1);
    let small = || smallest(RING_BYTES.0).filter(|one| takes(**one) <= RING_SECONDS * 3.0);
    let smaller = || smallest(OWN_BYTES).or_else(|| sizes.iter().rev().find(|one| one.0 <= RING_BYTES.1));
    found.or_else(|| small().or_else(smaller).map(|one| one.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_link_is_not_charged_for_waits_of_its_ranks() {
        // 256 KiB on a starved machine took 0.3 s, of which the ranks waited all but 10 ms.
        assert!(carried(MIB / 4, 0.3, 0.29) > 15e6);
        // A link of 10 Mbit/s stays slow, whoever waits a little meanwhile.
        assert!(carried(MIB / 4, 0.22, 0.05) < 2e6);
        // Overlapping waits never leave nothing.
        assert!(carried(MIB, 0.1, 0.4) <= MIB as f64 / 0.005);
    }

    #[test]
    fn repeat_size_shrinks_for_a_slow_rank() {
        let sizes = |slow: f64| {
            [(8, 1e-4), (MIB / 4, 0.002), (4 * MIB, 0.02), (16 * MIB, 0.08), (64 * MIB, 0.3)]
                .map(|(bytes, seconds)| (bytes, seconds * slow))
        };
        assert_eq!(quick(&sizes(1.0), 0.5), Some(16 * MIB), "the largest that is quickly done");
        assert_eq!(quick(&sizes(1.0), 12.0), Some(4 * MIB), "a rank whose own part takes long");
        assert_eq!(quick(&sizes(10.0), 40.0), Some(4 * MIB), "up to three times as long as it should");
        assert_eq!(quick(&sizes(10.0), 200.0), Some(MIB / 4), "a part of what it takes is its own");
        assert_eq!(quick(&[(8, 0.1)], 0.1), Some(8));
        assert_eq!(quick(&[], 0.1), None);
    }

    #[test]
    fn a_ring_of_large_sizes_alone_is_measured_again_with_a_smaller_one() {
        let again = |sizes: &[(usize, f64)], own| quick(&with_comparable(sizes), own);
        assert_eq!(again(&[(256 * MIB, 0.4)], 1.0), Some(32 * MIB));
        assert_eq!(
            again(&[(8, 1e-4), (256 * MIB, 0.4)], 1.0),
            Some(32 * MIB),
            "8 bytes tell of no bandwidth"
        );
        assert_eq!(again(&[(256 * MIB, 4.0)], 20.0), Some(8 * MIB), "a slow machine");
        assert_eq!(again(&[(64 * MIB, 0.1), (256 * MIB, 0.4)], 1.0), Some(32 * MIB));
        // What was measured is what is repeated.
        let measured = [(4 * MIB, 0.01), (256 * MIB, 0.4)];
        assert_eq!(with_comparable(&measured), measured);
        assert_eq!(with_comparable(&[(8, 1e-4)]), [(8, 1e-4)]);
        assert!(with_comparable(&[]).is_empty());
    }
}
