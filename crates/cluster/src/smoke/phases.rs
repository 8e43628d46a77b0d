//! The phases of the test, from "can the ranks connect" to "how fast". Each has a deadline, so that a fault
//! is named by the first phase that fails.

use catalog::Catalog;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::bandwidth::{bus, median, size};
use super::judge;
use super::outcome::{Expected, Measured, Outcome, Phase, PhaseFailed, Status, Verdict, WrongElements};
use super::pairs;
use super::progress::Progress;
use super::rank::{Answer, Task};
use crate::probe;
use crate::worker::session::Session;
use crate::worker::{self, Failure};

/// The most bytes that every rank sends to find out what the path carries, and about how many seconds that
/// takes.
const STREAM_LIMIT_BYTES: usize = 64 << 20;
const STREAM_SECONDS: f64 = 0.3;
/// It is sent so often at most, and not again where the rate has grown by less than this factor.
const STREAM_ROUNDS: usize = 8;
const STREAM_GROWTH: f64 = 1.1;
/// The longest that one all-reduce of the sweep may take, in seconds: what would take longer is left out, and
/// said.
const ALL_REDUCE_LIMIT_SECONDS: f64 = 2.0;
/// Milliseconds within which a connection is established in one data center.
const FAST_CONNECT_MS: f64 = 2.0;
/// How long to wait for the other ranks after one reported that the ring broke: a broken ring stalls
/// everywhere within moments.
pub(super) const PEER_GRACE: Duration = Duration::from_secs(2);
/// The longest that a worker may take to say that it is there.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(2);
/// Of a worker that does not say so.
const UNRESPONSIVE: &str = "worker stopped responding (process hung or connection lost)";
/// Connections that begin at once.
const MAX_PARALLEL_CONNECTS: usize = 64;
/// Seconds that the rounds of one size should take together.
pub(super) const SECONDS_PER_SIZE: f64 = 0.2;
/// Element counts of the first all-reduces: fewer than there are ranks, not divisible, more than a slice.
pub(super) const CHECKED_COUNTS: &[usize] = &[1, 1009, 262_147];

/// A rank and how it is reached.
pub struct Place {
    /// Its node: `node1`; on one machine `rank 0`.
    pub node: String,
    /// The address by which the others reach it.
    pub address: IpAddr,
    /// Its worker.
    pub session: Arc<Session>,
}

/// How it is to be done.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the measurements are compared with.
    pub catalog: &'static Catalog,
    /// Sizes in bytes, ascending.
    pub sizes: Vec<usize>,
    /// Rounds of a size; left to the time that they take where it is not said.
    pub iterations: Option<usize>,
    /// The longest that a phase before the sweep may take.
    pub deadline: Duration,
    /// The longest that a connection may stall.
    pub stall: Duration,
    /// Whether every pair of ranks is tried alone, whatever comes before.
    pub pairs: bool,
    /// Whether NCCL sums on the GPUs too.
    pub nccl: When,
    /// Whether the image's own torch sums too.
    pub torch: bool,
    /// Whether DeepSpeed trains too.
    pub deepspeed: bool,
    /// The transport that NCCL should use then.
    pub transport: Option<super::transport::ExpectedTransport>,
    /// A test's: rank and element of which a byte is turned.
    pub corrupt: Option<(usize, usize)>,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// Where there is what it needs.
    Auto,
    /// In any case: what it needs and is not there is a failure.
    Always,
    /// Not at all.
    Never,
}

/// The phases, with the ranks they run on.
pub struct PhaseRunner<'p> {
    places: &'p [Place],
    options: &'p Options,
    progress: Progress<'p>,
    /// What came of it so far.
    pub outcome: Outcome,
}

/// Runs all phases. There must be at least two places.
pub async fn run(places: &[Place], options: &Options, progress: Progress<'_>) -> Outcome {
    let outcome = Outcome::new(options.catalog, places.iter().map(|place| place.node.clone()).collect());
    let mut runner = PhaseRunner::new(places, options, progress, outcome);
    if runner.reach().await.is_ok() {
        let _ = runner.sums().await;
    }
    runner.end().await
}

impl<'p> PhaseRunner<'p> {
    /// Before the first phase; earlier phases are in the outcome.
    pub fn new(
        places: &'p [Place],
        options: &'p Options,
        progress: Progress<'p>,
        outcome: Outcome,
    ) -> PhaseRunner<'p> {
        PhaseRunner { places, options, progress, outcome }
    }

    /// From the rendezvous to the bandwidths, and the verdict.
    pub async fn sums(&mut self) -> Result<(), PhaseFailed> {
        let done = self.phases().await;
        if done.is_ok() {
            judge::judge(&mut self.outcome);
        }
        let bad = matches!(self.outcome.verdict, Verdict::Slow | Verdict::Failed);
        if self.options.pairs || bad && self.places.len() > 2 {
            self.pairs().await;
        }
        done
    }

    async fn phases(&mut self) -> Result<(), PhaseFailed> {
        self.rendezvous().await?;
        self.correct().await?;
        self.path().await?;
        self.sweep().await
    }

    /// Which node or link it is.
    async fn pairs(&mut self) {
        let start = Instant::now();
        self.progress.phase("pairs", "testing every pair of ranks alone");
        let pairs = pairs::tournament(self.places, self.options).await;
        let blamed = pairs::blame(&pairs, &self.outcome.ranks);
        let status =
            if pairs.iter().any(|pair| pair.came.is_err()) { Status::Failed } else { Status::Passed };
        let says = match blamed.is_empty() {
            true => format!("{} pairs, no outlier", pairs.len()),
            false => blamed.join("; "),
        };
        if !blamed.is_empty() {
            self.outcome.says += &format!("; pair by pair: {says}");
        }
        let seconds = start.elapsed().as_secs_f64();
        self.outcome.phases.push(Phase { name: "pairs", node: None, status, seconds, says });
        self.outcome.network.pairs = pairs;
    }

    /// Lets the ranks go.
    pub async fn end(self) -> Outcome {
        let leave = |place| ask(place, Task::Leave, Duration::from_secs(1));
        // Whoever is gone cannot leave, and is not waited for.
        let left = join_all(self.places.iter().map(leave));
        let _ = tokio::time::timeout(Duration::from_secs(1), left).await;
        self.outcome
    }

    /// Every rank connects to every other.
    pub async fn reach(&mut self) -> Result<(), PhaseFailed> {
        let (start, deadline) = (Instant::now(), self.options.deadline);
        self.progress.phase("tcp", "connecting every rank to every other");
        let listening = join_all(self.places.iter().map(|place| async {
            let task = worker::Task::ListenTcp { port: 0 };
            match place.session.start(task, deadline * 2).await {
                Ok((id, worker::Answer::Listening { port })) => Ok((id, port)),
                Ok((_, other)) => Err(format!("unexpected answer: {other:?}")),
                Err(failure) => Err(failure.says),
            }
        }))
        .await;
        let mut failed = Vec::new();
        for (place, port) in self.places.iter().zip(&listening) {
            if let Err(why) = port {
                failed.push((place.node.clone(), format!("{} cannot listen: {why}", place.node)));
            }
        }
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
            return self.outcome.finish_phase("tcp", start, failed, "");
        }
        let (places, world) = (self.places, self.places.len());
        let pairs = (0..world).flat_map(|from| (0..world).map(move |to| (from, to)));
        let tried = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            let port = listening[to].as_ref().map_or(0, |(_, port)| *port);
            async move { (from, to, connects(&places[from], &places[to], port, deadline).await) }
        });
        // A few at once: hundreds of connections that begin together take each other's time.
        let left = places.iter().map(|place| (place.node.clone(), world - 1)).collect();
        let mut progress = self.progress.counting(left);
        let tried = futures_util::stream::iter(tried).buffer_unordered(MAX_PARALLEL_CONNECTS);
        let tried: Vec<_> =
            tried.inspect(|(from, _, came)| progress(&places[*from].node, came.is_ok())).collect().await;
        drop(progress);
        let mut failed = Vec::new();
        for (from, to, came) in tried {
            let (one, other) = (&self.places[from], &self.places[to]);
            match came {
                Ok(milliseconds) => {
                    let slowest = &mut self.outcome.network.slowest_connect;
                    if slowest.is_none_or(|(_, _, other)| milliseconds > other) {
                        *slowest = Some((from, to, milliseconds));
                    }
                }
                Err(why) => {
                    let says =
                        format!("{} cannot reach {} at {}: {why}", one.node, other.node, other.address);
                    failed.push((one.node.clone(), says));
                }
            }
        }
        failed.sort();
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
        }
        join_all(self.places.iter().zip(&listening).map(|(place, listening)| async move {
            if let Ok((listener, _)) = listening {
                let _ = place.session.ask(worker::Task::Stop { listener: *listener }, deadline).await;
            }
        }))
        .await;
        let slowest = self.outcome.network.slowest_connect.map_or(0.0, |(_, _, milliseconds)| milliseconds);
        let says = format!("all {} pairs connect, slowest in {slowest:.1} ms", world * (world - 1));
        self.outcome.finish_phase("tcp", start, failed, &says)
    }

    fn sessions(&self) -> impl Iterator<Item = (&str, &Session)> {
        self.places.iter().map(|place| (place.node.as_str(), &*place.session))
    }

    /// The ring is closed.
    async fn rendezvous(&mut self) -> Result<(), PhaseFailed> {
        let (start, world) = (Instant::now(), self.places.len());
        self.progress.phase("rendezvous", "connecting the ranks to a ring");
        let deadline = self.options.deadline;
        let run = self.places.first().map(|place| place.session.hello.nonce.clone()).unwrap_or_default();
        let listen = |place| ask(place, Task::Listen { address: None }, deadline);
        let ports: Vec<Result<u16, String>> = join_all(self.places.iter().map(listen))
            .await
            .into_iter()
            .map(|answer| match answer {
                Ok(Answer::Listening { port }) => Ok(port),
                other => Err(unexpected(other, &|rank| self.rank_name(rank))),
            })
            .collect();
        let progress = self.progress;
        let joined = join_all(self.places.iter().enumerate().map(|(number, place)| {
            let (to, from) = ((number + 1) % world, (number + world - 1) % world);
            let nonce = |rank: usize| self.places[rank].session.hello.nonce.clone();
            let task = Task::Join {
                own: nonce(number),
                left: nonce(from),
                run: run.clone(),
                number,
                world,
                address: self.places[to].address,
                port: ports[to].as_ref().copied().unwrap_or(0),
                stall: self.options.stall.as_secs_f64(),
            };
            async move {
                let answer = ask(place, task, deadline).await;
                progress.node(&place.node, matches!(answer, Ok(Answer::Joined { .. })));
                answer
            }
        }))
        .await;
        let mut remarks = Vec::new();
        let failed = self.places.iter().zip(joined).filter_map(|(place, answer)| match answer {
            Ok(Answer::Joined { refused }) => {
                remarks.extend(refused.iter().map(|who| format!("{} refused {who}", place.node)));
                None
            }
            other => Some((
                place.node.clone(),
                format!("{}: {}", place.node, unexpected(other, &|rank| self.rank_name(rank))),
            )),
        });
        let mut failed: Vec<_> = failed.collect();
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
            let mut seen = BTreeSet::new();
            failed.retain(|row| seen.insert(row.clone()));
        }
        self.outcome.remarks.extend(remarks);
        self.outcome.finish_phase("rendezvous", start, failed, &format!("all {world} ranks connected"))
    }

    /// Small all-reduces of awkward sizes, every element checked.
    async fn correct(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("all-reduce", "checking every element of all-reduces");
        for elements in CHECKED_COUNTS {
            self.reduce("all-reduce", start, *elements, 0, 0).await?;
        }
        self.outcome.finish_phase("all-reduce", start, Vec::new(), "every element is correct on every rank")
    }

    /// What the path carries without any reducing: the limit that the ring is held against.
    async fn path(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("path", "the measured rate of the path");
        let mut best = vec![0.0_f64; self.places.len()];
        let mut resent = vec![None; self.places.len()];
        let mut bytes = 1 << 20;
        let mut before = 0.0_f64;
        // The first finds the window of TCP small, and how much the others may send. On a long way the window
        // grows for longer.
        for round in 0..STREAM_ROUNDS {
            let task = Task::Stream { bytes, sends: true, receives: true };
            let answers = self.all(task, "path", start).await?;
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
            "path",
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
                let answers = self.each(task, "path", start).await?;
                if let Some(Answer::Streamed { seconds, .. }) = answers.get(to) {
                    *best = best.max(bytes as f64 / seconds);
                }
            }
        }
        self.outcome.network.alone = alone;
        Ok(())
    }

    /// Bandwidth over size.
    async fn sweep(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        let mut last = (0_usize, 0.0);
        for bytes in &self.options.sizes {
            self.progress.phase("bandwidth", &format!("bandwidth of {}", size(*bytes)));
            let world = self.places.len();
            let carried = self.outcome.expected.as_ref().map_or(f64::INFINITY, |expected| expected.bus);
            let guess = last.1 * (*bytes as f64 / last.0.max(1) as f64);
            // Small data says little of large.
            let least = bus(*bytes, 1.0, world) / carried;
            if least > ALL_REDUCE_LIMIT_SECONDS || last.0 > 1 << 20 && guess > ALL_REDUCE_LIMIT_SECONDS * 2.0
            {
                let seconds = if least > ALL_REDUCE_LIMIT_SECONDS { least } else { guess };
                self.outcome.remarks.push(format!(
                    "sizes from {} up are skipped: one all-reduce would take about {seconds:.0} s",
                    size(*bytes)
                ));
                break;
            }
            let rounds = rounds(last, *bytes, self.options.iterations);
            // Before these one is checked, over the same memory: that is warm-up enough where each takes
            // long.
            let warmup = if guess > SECONDS_PER_SIZE / 5.0 { 0 } else { rounds.min(5) };
            let measured = self.reduce("bandwidth", start, bytes / size_of::<f32>(), warmup, rounds).await?;
            last = (*bytes, measured.seconds);
            self.outcome.results.push(measured);
        }
        let says = match self.outcome.results.last() {
            Some(last) => format!("{:.3} GB/s busbw at {}", last.bus / 1e9, size(last.bytes)),
            None => "no size was requested".into(),
        };
        self.outcome.finish_phase("bandwidth", start, Vec::new(), &says)
    }

    /// One size on all ranks.
    async fn reduce(
        &mut self,
        name: &'static str,
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
        self.outcome.network.own = vec![0.0; self.places.len()];
        for (rank, (place, answer)) in self.places.iter().zip(answers).enumerate() {
            let Answer::Reduced { seconds, own, wrong: here, first_wrong } = answer else { continue };
            self.outcome.network.own[rank] = own;
            for (round, seconds) in rounds.iter_mut().zip(seconds) {
                *round = round.max(seconds);
            }
            wrong.add(&place.node, &place.node, here, first_wrong);
        }
        let wrong = wrong.check(name, start, &mut self.outcome)?;
        Ok(Measured::new(elements * size_of::<f32>(), median(&rounds), self.places.len(), wrong))
    }

    async fn all(
        &mut self,
        task: Task,
        name: &'static str,
        start: Instant,
    ) -> Result<Vec<Answer>, PhaseFailed> {
        self.each(|_| task.clone(), name, start).await
    }

    /// A task on every rank; the first one that breaks is the one that is named, because it pulls the others
    /// down.
    async fn each(
        &mut self,
        task: impl Fn(usize) -> Task,
        name: &'static str,
        start: Instant,
    ) -> Result<Vec<Answer>, PhaseFailed> {
        // The ring ends by itself when it stands still; this is for a worker that is stopped altogether.
        let deadline = self.options.stall * 4 + Duration::from_secs(60);
        let mut running: FuturesUnordered<_> = self
            .places
            .iter()
            .enumerate()
            .map(|(rank, place)| {
                let asked = ask(place, task(rank), deadline);
                async move { (rank, asked.await) }
            })
            .collect();
        let mut answers: Vec<Option<Answer>> = vec![None; self.places.len()];
        let mut told = vec![false; self.places.len()];
        let mut broken: Vec<(usize, Option<usize>, String)> = Vec::new();
        let mut last = None;
        loop {
            let next = match last {
                None => running.next().await,
                // What one has noticed the others notice soon, if they can tell at all.
                Some(until) => match tokio::time::timeout_at(until, running.next()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
            };
            let Some((rank, answer)) = next else { break };
            // Whoever broke has waited for as long as a connection may stand still; of one that is gone the
            // others learn only then.
            let wait = match &answer {
                Ok(Answer::Broken(_)) => Some(PEER_GRACE),
                Ok(_) => None,
                Err(_) => Some(self.options.stall + PEER_GRACE),
            };
            if let Some(until) = wait.map(|wait| tokio::time::Instant::now() + wait) {
                last = Some(last.map_or(until, |last: tokio::time::Instant| last.min(until)));
            }
            told[rank] = true;
            self.progress.node(&self.places[rank].node, !matches!(answer, Ok(Answer::Broken(_)) | Err(_)));
            match answer {
                Ok(Answer::Broken(why)) => {
                    broken.push((rank, why.culprit(), why.message(&|rank| self.rank_name(rank))));
                }
                Ok(answer) => answers[rank] = Some(answer),
                // It ended: nobody else can have been the first.
                Err(failure) => broken.insert(0, (rank, Some(rank), failure.says)),
            }
        }
        drop(running);
        if broken.is_empty() {
            return Ok(answers.into_iter().flatten().collect());
        }
        // One that ended was the first; then one that is silent; the others tell of those two.
        let ended = broken.iter().take_while(|(rank, culprit, _)| Some(*rank) == *culprit).count();
        for (rank, _) in told.iter().enumerate().filter(|(_, told)| !**told) {
            broken.insert(ended, (rank, Some(rank), UNRESPONSIVE.into()));
        }
        let failed = broken.into_iter().map(|(rank, _, says)| {
            let node = self.places[rank].node.clone();
            let says = format!("{node}: {says}");
            (node, says)
        });
        let failed = failed.collect();
        self.outcome.finish_phase(name, start, failed, "").map(|()| Vec::new())
    }

    /// `rank 2 (node3)`; on one machine, where ranks are the nodes, `rank 2`.
    fn rank_name(&self, rank: usize) -> String {
        match self.places.get(rank).map(|place| place.node.as_str()) {
            Some(node) if node != format!("rank {rank}") => format!("rank {rank} ({node})"),
            _ => format!("rank {rank}"),
        }
    }
}

/// Timed rounds of a size: as many as take [`SECONDS_PER_SIZE`], estimated from the size before, or as
/// `wanted`.
pub(super) fn rounds(last: (usize, f64), bytes: usize, wanted: Option<usize>) -> usize {
    let guess = last.1 * (bytes as f64 / last.0.max(1) as f64);
    wanted.unwrap_or(if guess > 0.0 { (SECONDS_PER_SIZE / guess).clamp(3.0, 50.0) as usize } else { 20 })
}

/// Milliseconds until a connection stood; the second time where the first one took long, as it looks for the
/// way.
async fn connects(one: &Place, other: &Place, port: u16, deadline: Duration) -> Result<f64, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..2 {
        let endpoint = (other.address, port);
        let connected = probe::connect_to_worker(&one.session, &other.session, endpoint, deadline);
        least = least.min(connected.await?);
        if least < FAST_CONNECT_MS {
            break;
        }
    }
    Ok(least)
}

/// Workers that have ended, or hang: nodes and what is known. Whatever else broke, that is the cause.
pub(super) async fn gone(sessions: impl Iterator<Item = (&str, &Session)>) -> Vec<(String, String)> {
    let asked = sessions.map(|(node, session)| async move {
        let says = match session.ask(worker::Task::Identity, LIVENESS_TIMEOUT).await.err()?.why {
            worker::Why::Gone => "the worker exited or its connection closed",
            _ => UNRESPONSIVE,
        };
        Some((node.to_owned(), format!("{node}: {says}")))
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Has a rank do a task.
pub(super) async fn ask(place: &Place, task: Task, deadline: Duration) -> Result<Answer, Failure> {
    place.session.ask_custom(&task, deadline).await
}

/// Why an answer is not the expected one.
pub(super) fn unexpected(answer: Result<Answer, Failure>, name: &dyn Fn(usize) -> String) -> String {
    match answer {
        Ok(Answer::Broken(broken)) => broken.message(name),
        Ok(other) => format!("unexpected answer: {other:?}"),
        Err(failure) => failure.says,
    }
}
