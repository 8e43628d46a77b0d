//! The phases of the test, from "can the ranks connect" to "how fast". Each has a deadline, so that a fault
//! is named by the first phase that fails.

mod ask;
mod cpu_limits;
mod each;
mod options;
mod pairs;
mod path;
mod repeat;
mod shm;
mod starved;
mod sweep;
mod tcp;

use ask::ask;
pub(super) use ask::{gone, silent};
pub use options::{Options, When};
pub(super) use sweep::rounds;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::judge;
use super::no_answer::NoAnswer;
use super::outcome::{Outcome, Phase, PhaseFailed, Status, Verdict};
use super::pair::blame;
use super::phase::PhaseId;
use super::progress::Progress;
use super::rank_task::{Answer, Task};
use super::throttled;
use crate::flow::Counters;
use crate::flow::measure::{self, Peer};
use crate::worker::session::Session;
use docker::fan_out;

/// How long to wait for the other ranks after one reported that the ring broke: a broken ring stalls
/// everywhere within moments.
pub(super) const PEER_GRACE: Duration = Duration::from_secs(2);
/// Element counts of the first all-reduces: fewer than there are ranks, not divisible, more than a slice.
pub(super) const CHECKED_COUNTS: &[usize] = &[1, 1009, 262_147];

/// A rank and how it is reached.
pub struct Endpoint {
    /// Its node: `node1`; on one machine `rank 0`.
    pub node: String,
    /// Whether `node` names the rank itself, as on one machine.
    pub is_rank: bool,
    /// The address by which the others reach it.
    pub address: IpAddr,
    /// Its worker.
    pub session: Arc<Session>,
}

/// The phases, with the ranks they run on.
pub struct PhaseRunner<'p> {
    endpoints: &'p [Endpoint],
    options: &'p Options,
    progress: Progress<'p>,
    /// What came of it so far.
    pub outcome: Outcome,
}

/// Runs all phases. There must be at least two places.
pub async fn run(endpoints: &[Endpoint], options: &Options, progress: Progress<'_>) -> Outcome {
    let outcome =
        Outcome::new(options.catalog, endpoints.iter().map(|endpoint| endpoint.node.clone()).collect());
    let mut runner = PhaseRunner::new(endpoints, options, progress, outcome);
    if runner.shared_memory().await.is_ok() && runner.reach().await.is_ok() {
        let _ = runner.sums().await;
    }
    runner.end().await
}

impl<'p> PhaseRunner<'p> {
    /// Before the first phase; earlier phases are in the outcome.
    pub fn new(
        endpoints: &'p [Endpoint],
        options: &'p Options,
        progress: Progress<'p>,
        outcome: Outcome,
    ) -> PhaseRunner<'p> {
        PhaseRunner { endpoints, options, progress, outcome }
    }

    /// From the rendezvous to the bandwidths, and the verdict.
    pub async fn sums(&mut self) -> Result<(), PhaseFailed> {
        let (before, limits) = (self.counters().await, self.cpu_limits().await);
        let done = self.phases().await;
        self.outcome.network.cpu_limits = self.throttled(limits).await;
        if done.is_ok() {
            let after = self.counters().await;
            let since = |(after, before): (&Option<Counters>, &Option<Counters>)| {
                Some(after.as_ref()?.since(before.as_ref()?))
            };
            self.outcome.network.counters = after.iter().zip(&before).map(since).collect();
            judge::judge(&mut self.outcome);
        } else if self.outcome.network.repeated.doubts.any() && self.outcome.verdict != Verdict::Wrong {
            judge::judge_interrupted(&mut self.outcome);
        } else {
            throttled::add(&mut self.outcome);
        }
        let bad = matches!(self.outcome.verdict, Verdict::Slow | Verdict::Failed);
        if self.options.pairs || bad && self.endpoints.len() > 2 {
            self.pairs().await;
        }
        done
    }

    /// What the kernel of each container counts; of this machine there would be everything else in it.
    async fn counters(&self) -> Vec<Option<Counters>> {
        let endpoints = self.endpoints.iter().filter(|endpoint| !endpoint.is_rank);
        let peers: Vec<_> = endpoints
            .map(|endpoint| Peer { address: endpoint.address, session: &endpoint.session })
            .collect();
        measure::counters(&peers).await
    }

    async fn phases(&mut self) -> Result<(), PhaseFailed> {
        self.rendezvous().await?;
        self.correct().await?;
        self.path().await?;
        self.sweep().await?;
        self.repeat().await
    }

    /// Which node or link it is.
    async fn pairs(&mut self) {
        let start = Instant::now();
        self.progress.phase(PhaseId::Pairs, "testing every pair of ranks alone");
        let pairs = pairs::tournament(self.endpoints, self.options).await;
        let blamed = blame(&pairs, &self.outcome.ranks);
        let status =
            if pairs.iter().any(|pair| pair.came.is_err()) { Status::Failed } else { Status::Passed };
        let message = match blamed.is_empty() {
            true => format!("{} pairs, no outlier", pairs.len()),
            false => blamed.join("; "),
        };
        if !blamed.is_empty() {
            self.outcome.message += &format!("; pair by pair: {message}");
        }
        let seconds = start.elapsed().as_secs_f64();
        self.outcome.phases.push(Phase { id: PhaseId::Pairs, node: None, status, seconds, message });
        self.outcome.network.pairs = pairs;
    }

    /// Lets the ranks go.
    pub async fn end(self) -> Outcome {
        let leave = |endpoint| ask(endpoint, Task::Leave, Duration::from_secs(1));
        // Whoever is gone cannot leave, and is not waited for.
        let left = fan_out(self.endpoints.iter().map(leave));
        let _ = tokio::time::timeout(Duration::from_secs(1), left).await;
        self.outcome
    }

    fn sessions(&self) -> impl Iterator<Item = (&str, &Session)> {
        self.endpoints.iter().map(|endpoint| (endpoint.node.as_str(), &*endpoint.session))
    }

    /// The ring is closed.
    async fn rendezvous(&mut self) -> Result<(), PhaseFailed> {
        let (start, world) = (Instant::now(), self.endpoints.len());
        self.progress.phase(PhaseId::Rendezvous, "connecting the ranks to a ring");
        let deadline = self.options.deadline;
        let run =
            self.endpoints.first().map(|endpoint| endpoint.session.hello.nonce.clone()).unwrap_or_default();
        let listen = |endpoint: &'p Endpoint| {
            ask(endpoint, Task::Listen { address: Some(endpoint.address) }, deadline)
        };
        // A rank that does not listen says why when it joins; its neighbor connects to no port then.
        let port = |answer| if let Ok(Answer::Listening { port }) = answer { port } else { 0 };
        let ports: Vec<u16> =
            fan_out(self.endpoints.iter().map(listen)).await.into_iter().map(port).collect();
        let progress = self.progress;
        let joined = fan_out(self.endpoints.iter().enumerate().map(|(number, endpoint)| {
            let (to, from) = ((number + 1) % world, (number + world - 1) % world);
            let nonce = |rank: usize| self.endpoints[rank].session.hello.nonce.clone();
            let task = Task::Join {
                own: nonce(number),
                left: nonce(from),
                run: run.clone(),
                number,
                world,
                address: self.endpoints[to].address,
                port: ports[to],
                stall: self.options.stall.as_secs_f64(),
            };
            async move {
                let answer = ask(endpoint, task, deadline).await;
                progress.node(&endpoint.node, matches!(answer, Ok(Answer::Joined { .. })));
                answer
            }
        }))
        .await;
        let mut remarks = Vec::new();
        let failed = self.endpoints.iter().zip(joined).filter_map(|(endpoint, answer)| match answer {
            Ok(Answer::Joined { refused }) => {
                remarks.extend(refused.iter().map(|who| format!("{} refused {who}", endpoint.node)));
                None
            }
            other => Some((
                endpoint.node.clone(),
                format!("{}: {}", endpoint.node, NoAnswer::of(other, &|rank| self.rank_name(rank))),
            )),
        });
        let mut failed: Vec<_> = failed.collect();
        if !failed.is_empty() {
            failed.splice(..0, gone(self.sessions()).await);
            let mut seen = BTreeSet::new();
            failed.retain(|row| seen.insert(row.clone()));
        }
        self.outcome.remarks.extend(remarks);
        self.outcome.finish_phase(PhaseId::Rendezvous, start, failed, &format!("all {world} ranks connected"))
    }

    /// Small all-reduces of awkward sizes, every element checked.
    async fn correct(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::AllReduce, "checking every element of all-reduces");
        for elements in CHECKED_COUNTS {
            self.reduce(PhaseId::AllReduce, start, *elements, 0, 0).await?;
        }
        self.outcome.finish_phase(
            PhaseId::AllReduce,
            start,
            Vec::new(),
            "every element is correct on every rank",
        )
    }

    async fn all(&mut self, task: Task, name: PhaseId, start: Instant) -> Result<Vec<Answer>, PhaseFailed> {
        self.each(|_| task.clone(), name, start).await
    }

    /// `rank 2 (node3)`; on one machine, where ranks are the nodes, `rank 2`.
    fn rank_name(&self, rank: usize) -> String {
        match self.endpoints.get(rank) {
            Some(endpoint) if !endpoint.is_rank => format!("rank {rank} ({})", endpoint.node),
            _ => format!("rank {rank}"),
        }
    }
}
