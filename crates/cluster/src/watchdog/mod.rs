//! Watches the ranks of a job, and names those that make no progress: no output of the job, and none but a
//! trace of CPU time, I/O and network traffic of the rank for a set time. It only looks.

pub(crate) mod sample;
mod stall;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use docker::engine::Engine;
use docker::exec::{self, Command};
use docker::fan_out;

use sample::{Rank, SCRIPT, Sample};
pub use stall::{Quiet, Stall};

/// The longest that one look may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(20);
/// The shortest and the longest time between two looks.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// CPU time in ticks per second that counts as waiting (2 % of a core): threads of torch, gloo and NCCL look
/// around while the rank waits.
const IDLE_TICKS_PER_SECOND: f64 = 2.0;
/// Bytes per second that count as none: heartbeats of a rendezvous, ARP.
const IDLE_BYTES_PER_SECOND: f64 = 10_000.0;

/// What a rank did when it was last seen to do something.
#[derive(Debug, Clone)]
struct Track {
    since: Instant,
    network: u64,
    rank: Rank,
    now: Rank,
}

/// The ranks of a job, as they were seen.
pub struct Watchdog {
    stall: Duration,
    /// All ranks that the job should have.
    expected: usize,
    tracks: BTreeMap<(String, u32), Track>,
}

impl Watchdog {
    /// For a job of so many ranks; `stall`: how long one may do nothing.
    pub fn new(expected: usize, stall: Duration) -> Watchdog {
        Watchdog { stall, expected, tracks: BTreeMap::new() }
    }

    /// Looks at the job again and again. `output` is when it printed last. `report` gets a stall when it is
    /// new or has changed, and `None` when it is over.
    pub async fn watch(
        mut self,
        containers: &[(String, &Engine)],
        (mark, user): (&str, Option<&str>),
        output: &Cell<Instant>,
        report: impl Fn(Option<&Stall>),
    ) -> Infallible {
        let mut last: Option<Stall> = None;
        loop {
            tokio::time::sleep((self.stall / 6).clamp(INTERVALS.0, INTERVALS.1)).await;
            let looks = containers.iter().map(|(node, engine)| look(engine, node, mark, user));
            let samples = fan_out(looks).await;
            let now = Instant::now();
            for ((node, _), sample) in containers.iter().zip(samples) {
                self.observe(node, sample, now, output.get());
            }
            let stall = self.judge(now);
            let same = match (&stall, &last) {
                (Some(stall), Some(last)) => stall.is_like(last),
                (None, None) => true,
                _ => false,
            };
            if !same {
                report(stall.as_ref());
            }
            last = stall;
        }
    }

    /// Takes a look at a node into account; without one nothing is known of its ranks.
    fn observe(&mut self, node: &str, sample: Option<Sample>, now: Instant, output: Instant) {
        let sample = sample.unwrap_or_default();
        self.tracks.retain(|(of, rank), track| {
            of != node || sample.ranks.get(rank).is_some_and(|observe| observe.id == track.rank.id)
        });
        for (number, rank) in sample.ranks {
            let fresh = Track { since: now, network: sample.network, rank: rank.clone(), now: rank };
            let track = self.tracks.entry((node.to_owned(), number)).or_insert_with(|| fresh.clone());
            match track.works(&fresh, output) {
                true => *track = fresh,
                false => track.now = fresh.now,
            }
        }
    }

    /// What speaks for a stall now.
    fn judge(&self, now: Instant) -> Option<Stall> {
        let quiet = |((node, rank), track): (&(String, u32), &Track)| Quiet {
            node: node.clone(),
            rank: *rank,
            process: track.now.id,
            state: track.now.state,
            sleeps_in: track.now.sleeps_in.clone(),
            seconds: now.saturating_duration_since(track.since).as_secs(),
        };
        Stall::of(self.tracks.iter().map(quiet).collect(), self.expected, self.stall)
    }
}

impl Track {
    /// Whether the rank did something between this and `later`.
    fn works(&self, later: &Track, output: Instant) -> bool {
        let seconds = later.since.saturating_duration_since(self.since).as_secs_f64();
        // Less than before: a process of the rank has ended.
        let more = |before: u64, after: u64, idle: f64| before.abs_diff(after) as f64 > idle * seconds + idle;
        if more(self.rank.cpu, later.rank.cpu, IDLE_TICKS_PER_SECOND) {
            return true;
        }
        // A stopped process does not print, and the traffic of its node is that of others.
        let stopped = matches!(later.rank.state, 'T' | 't');
        !stopped
            && (output > self.since
                || more(self.rank.bytes, later.rank.bytes, IDLE_BYTES_PER_SECOND)
                || more(self.network, later.network, IDLE_BYTES_PER_SECOND))
    }
}

async fn look(engine: &Engine, container: &str, mark: &str, user: Option<&str>) -> Option<Sample> {
    let argv = ["sh", "-c", SCRIPT, "sh", mark].map(str::to_owned).to_vec();
    let command = Command { argv, user: user.map(str::to_owned), ..Command::default() };
    let ran = exec::whole(engine, container, &command, LOOK_TIMEOUT).await.ok()?;
    (ran.status == 0).then(|| Sample::parse(&ran.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(state: char, cpu: u64, network: u64) -> Option<Sample> {
        let rank = Rank { id: 7, state, sleeps_in: None, cpu, bytes: 0 };
        Some(Sample { network, ranks: BTreeMap::from([(1, rank)]) })
    }

    #[test]
    fn detects_stopped_or_waiting_ranks_but_not_working_ones() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let quiet = |samples: [(u64, Option<Sample>, u64); 3]| {
            let mut dog = Watchdog::new(1, Duration::from_secs(60));
            for (seconds, sample, output) in samples {
                dog.observe("node2", sample, at(seconds), at(output));
            }
            dog.judge(at(70)).is_some()
        };
        // Others print, and the node has traffic.
        assert!(quiet([
            (0, sample('T', 50, 0), 0),
            (30, sample('T', 50, 1 << 30), 30),
            (70, sample('T', 50, 2 << 30), 70)
        ]));
        // A waiting rank: 0.5 % of a core.
        assert!(quiet([
            (0, sample('S', 50, 0), 0),
            (30, sample('S', 65, 99), 0),
            (70, sample('S', 85, 200), 0)
        ]));
        assert!(!quiet([
            (0, sample('S', 50, 0), 0),
            (30, sample('S', 50, 99), 20),
            (70, sample('S', 50, 200), 20)
        ]));
        assert!(!quiet([
            (0, sample('S', 50, 0), 0),
            (30, sample('R', 950, 0), 0),
            (70, sample('R', 2000, 0), 0)
        ]));
        assert!(!quiet([
            (0, sample('S', 50, 0), 0),
            (30, sample('S', 50, 1 << 30), 0),
            (70, sample('S', 50, 2 << 30), 0)
        ]));
        // Nothing is known of a node that could not be asked meanwhile.
        assert!(!quiet([(0, sample('T', 50, 0), 0), (30, None, 0), (70, sample('T', 50, 0), 0)]));
    }
}
