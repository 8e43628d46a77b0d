//! The ladder: rung after rung from "is there a way" to "how fast", each with a deadline, so that what is broken is named by the first rung
//! that does not hold.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::bandwidth::{algorithm, bus, median};
use super::outcome::{Expected, Measured, Outcome, Phase, Status, Verdict};
use super::rank::{Answer, Task};
use crate::worker::session::Session;
use crate::worker::{self, Failure};

/// The part of what the path carries that the ring must reach: below it something other than the network is the limit. Measured
/// on two cores, where the ranks share the processors with the kernel's side of the sockets (docs/measurements/smoke.md).
const TOLERANCE: f64 = 0.6;
/// Bytes that every rank sends to find out what the path carries.
const STREAMED: usize = 64 << 20;
/// Seconds that the rounds of one size should take together.
const ROUNDS: f64 = 0.2;
/// Element counts of the first all-reduces: fewer than there are ranks, not divisible, more than a slice.
const CHECKED: &[usize] = &[1, 1009, 262_147];

/// A rank and how it is reached.
pub struct Place {
    /// Its node: `node1`; on one machine `rank 0`.
    pub node: String,
    /// The address by which the others reach it.
    pub address: IpAddr,
    /// Its worker.
    pub session: Session,
}

/// How it is to be done.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes in bytes, ascending.
    pub sizes: Vec<usize>,
    /// Rounds of a size; left to the time that they take where it is not said.
    pub iterations: Option<usize>,
    /// The longest that a rung may take before the sweep.
    pub deadline: Duration,
    /// The longest that a connection may stand still.
    pub stall: Duration,
    /// A test's: rank and element of which a byte is turned.
    pub corrupt: Option<(usize, usize)>,
}

/// What is told while it goes on.
pub type Tell<'t> = &'t (dyn Fn(&str) + Sync);

struct Ladder<'p> {
    places: &'p [Place],
    options: &'p Options,
    tell: Tell<'p>,
    outcome: Outcome,
}

/// Why the ladder ends here: what is in the outcome already.
struct Ends;

/// Climbs. There must be at least two places.
pub async fn climb(places: &[Place], options: &Options, tell: Tell<'_>) -> Outcome {
    let outcome = Outcome {
        verdict: Verdict::Failed,
        says: String::new(),
        ranks: places.iter().map(|place| place.node.clone()).collect(),
        phases: Vec::new(),
        results: Vec::new(),
        transport: "tcp".into(),
        expected: None,
        links: Vec::new(),
    };
    let mut ladder = Ladder { places, options, tell, outcome };
    if ladder.rungs().await.is_ok() {
        ladder.judge();
    }
    // Whoever is gone cannot leave.
    join_all(places.iter().map(|place| ask(place, Task::Leave, Duration::from_secs(1)))).await;
    ladder.outcome
}

impl Ladder<'_> {
    async fn rungs(&mut self) -> Result<(), Ends> {
        self.reach().await?;
        self.rendezvous().await?;
        self.correct().await?;
        self.path().await?;
        self.sweep().await
    }

    /// Every rank connects to every other.
    async fn reach(&mut self) -> Result<(), Ends> {
        let (start, deadline) = (Instant::now(), self.options.deadline);
        (self.tell)("every rank connects to every other");
        let listening = join_all(self.places.iter().map(|place| async {
            let task = worker::Task::ListenTcp { port: 0 };
            match place.session.start(task, deadline * 2).await {
                Ok((id, worker::Answer::Listening { port })) => Ok((id, port)),
                Ok((_, other)) => Err(format!("it answered {other:?}")),
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
            return self.rung("tcp", start, failed, "");
        }
        let pairs = self.places.iter().enumerate().flat_map(|(from, place)| {
            let listening = &listening;
            self.places.iter().enumerate().filter(move |(to, _)| *to != from).map(
                move |(to, target)| async move {
                    let port = listening[to].as_ref().map_or(0, |(_, port)| *port);
                    let task = worker::Task::ConnectTcp {
                        address: target.address.to_string(),
                        port,
                        greeting: true,
                    };
                    let tried = place.session.ask(task, deadline).await;
                    tried.err().map(|Failure { says, .. }| {
                        let (from, to) = (&place.node, &target.node);
                        (from.clone(), format!("{from} does not reach {to} at {}: {says}", target.address))
                    })
                },
            )
        });
        let failed: Vec<_> = join_all(pairs).await.into_iter().flatten().collect();
        join_all(self.places.iter().zip(&listening).map(|(place, listening)| async move {
            if let Ok((listener, _)) = listening {
                let _ = place.session.ask(worker::Task::Stop { listener: *listener }, deadline).await;
            }
        }))
        .await;
        let ranks = self.places.len();
        self.rung("tcp", start, failed, &format!("all {} pairs connect", ranks * (ranks - 1)))
    }

    /// The ring is closed.
    async fn rendezvous(&mut self) -> Result<(), Ends> {
        let (start, world) = (Instant::now(), self.places.len());
        (self.tell)("the ranks meet");
        let deadline = self.options.deadline;
        let run = self.places.first().map(|place| place.session.hello.nonce.clone()).unwrap_or_default();
        let listen = |place| ask(place, Task::Listen { address: None }, deadline);
        let ports: Vec<Result<u16, String>> = join_all(self.places.iter().map(listen))
            .await
            .into_iter()
            .map(|answer| match answer {
                Ok(Answer::Listening { port }) => Ok(port),
                other => Err(unlike(other)),
            })
            .collect();
        let joined = join_all(self.places.iter().enumerate().map(|(number, place)| {
            let to = (number + 1) % world;
            let task = Task::Join {
                run: run.clone(),
                number,
                world,
                address: self.places[to].address,
                port: ports[to].as_ref().copied().unwrap_or(0),
                stall: self.options.stall.as_secs_f64(),
            };
            ask(place, task, deadline)
        }))
        .await;
        let failed = self.places.iter().zip(joined).filter_map(|(place, answer)| match answer {
            Ok(Answer::Joined { .. }) => None,
            other => Some((place.node.clone(), format!("{}: {}", place.node, self.named(&unlike(other))))),
        });
        let failed = failed.collect();
        self.rung("rendezvous", start, failed, &format!("all {world} ranks met"))
    }

    /// Small all-reduces of awkward sizes, every element checked.
    async fn correct(&mut self) -> Result<(), Ends> {
        let start = Instant::now();
        (self.tell)("every element of a sum is checked");
        for elements in CHECKED {
            self.reduce("all-reduce", start, *elements, 0, 0).await?;
        }
        self.rung("all-reduce", start, Vec::new(), "every element on every rank is the sum of all ranks")
    }

    /// What the path carries without any reducing: the limit that the ring is held against.
    async fn path(&mut self) -> Result<(), Ends> {
        let start = Instant::now();
        (self.tell)("what the path carries");
        let most = self.options.sizes.last().copied().unwrap_or(0).clamp(1 << 20, STREAMED);
        let mut best = vec![0.0_f64; self.places.len()];
        // The first finds the window of TCP small.
        for bytes in [most / 4, most, most] {
            let answers = self.all(Task::Stream { bytes }, "path", start).await?;
            for (best, answer) in best.iter_mut().zip(answers) {
                if let Answer::Streamed { seconds } = answer {
                    *best = best.max(bytes as f64 / seconds);
                }
            }
        }
        let slowest = best.iter().copied().fold(f64::INFINITY, f64::min);
        self.outcome.links = best;
        self.outcome.expected = Some(Expected {
            bus: slowest,
            tolerance: TOLERANCE,
            from: "the raw rate of the same sockets, all ranks sending and receiving at once".into(),
        });
        self.rung("path", start, Vec::new(), &format!("{:.2} GB/s on the slowest link", slowest / 1e9))
    }

    /// Bandwidth over size.
    async fn sweep(&mut self) -> Result<(), Ends> {
        let start = Instant::now();
        let mut last = (0_usize, 0.0);
        for bytes in &self.options.sizes {
            (self.tell)(&format!("bandwidth of {bytes} bytes"));
            let guess = last.1 * (*bytes as f64 / last.0.max(1) as f64);
            let rounds = if guess > 0.0 { (ROUNDS / guess).clamp(3.0, 50.0) as usize } else { 20 };
            let rounds = self.options.iterations.unwrap_or(rounds);
            let measured =
                self.reduce("bandwidth", start, bytes / size_of::<f32>(), rounds.min(5), rounds).await?;
            last = (*bytes, measured.seconds);
            self.outcome.results.push(measured);
        }
        let says = match self.outcome.results.last() {
            Some(last) => format!("{:.3} GB/s busbw at {} bytes", last.bus / 1e9, last.bytes),
            None => "no size was asked for".into(),
        };
        self.rung("bandwidth", start, Vec::new(), &says)
    }

    /// One size on all ranks.
    async fn reduce(
        &mut self,
        name: &'static str,
        start: Instant,
        elements: usize,
        warmup: usize,
        iterations: usize,
    ) -> Result<Measured, Ends> {
        let corrupt = self.options.corrupt;
        let task = |rank: usize| Task::AllReduce {
            elements,
            warmup,
            iterations,
            corrupt: corrupt.filter(|(at, index)| *at == rank && *index < elements).map(|(_, index)| index),
        };
        let answers = self.each(task, name, start).await?;
        let (mut wrong, mut rounds, mut of_whom) = (0, vec![0.0_f64; iterations], Vec::new());
        for (place, answer) in self.places.iter().zip(answers) {
            let Answer::Reduced { seconds, wrong: here, first_wrong } = answer else { continue };
            for (round, seconds) in rounds.iter_mut().zip(seconds) {
                *round = round.max(seconds);
            }
            if here > 0 {
                let first = first_wrong.unwrap_or_default();
                let says =
                    format!("{}: {here} of {elements} elements are wrong, the first at {first}", place.node);
                of_whom.push((place.node.clone(), says));
            }
            wrong += here;
        }
        if wrong > 0 {
            self.outcome.verdict = Verdict::Wrong;
            self.rung(name, start, of_whom, "")?;
        }
        let (bytes, seconds, world) = (elements * size_of::<f32>(), median(&rounds), self.places.len());
        Ok(Measured {
            bytes,
            seconds,
            algorithm: algorithm(bytes, seconds),
            bus: bus(bytes, seconds, world),
            wrong,
        })
    }

    async fn all(&mut self, task: Task, name: &'static str, start: Instant) -> Result<Vec<Answer>, Ends> {
        self.each(|_| task.clone(), name, start).await
    }

    /// A task on every rank; the first one that breaks is the one that is named, because it pulls the others down.
    async fn each(
        &mut self,
        task: impl Fn(usize) -> Task,
        name: &'static str,
        start: Instant,
    ) -> Result<Vec<Answer>, Ends> {
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
        let mut broken: Vec<(usize, Option<usize>, String)> = Vec::new();
        while let Some((rank, answer)) = running.next().await {
            match answer {
                Ok(Answer::Broken(why)) => broken.push((rank, why.culprit, why.says)),
                Ok(answer) => answers[rank] = Some(answer),
                // It ended: nobody else can have been the first.
                Err(why) => broken.insert(0, (rank, Some(rank), why)),
            }
        }
        drop(running);
        if broken.is_empty() {
            return Ok(answers.into_iter().flatten().collect());
        }
        let failed = broken.into_iter().map(|(rank, _, says)| {
            let node = self.places[rank].node.clone();
            let says = format!("{node}: {}", self.named(&says));
            (node, says)
        });
        let failed = failed.collect();
        self.rung(name, start, failed, "").map(|()| Vec::new())
    }

    /// A rung is done: it holds, or the ladder ends here.
    fn rung(
        &mut self,
        name: &'static str,
        start: Instant,
        failed: Vec<(String, String)>,
        says: &str,
    ) -> Result<(), Ends> {
        let seconds = start.elapsed().as_secs_f64();
        let Some((_, first)) = failed.first() else {
            let says = says.to_owned();
            self.outcome.phases.push(Phase { name, node: None, status: Status::Passed, seconds, says });
            return Ok(());
        };
        self.outcome.says = format!("{name}: {first}");
        for (node, says) in failed {
            self.outcome.phases.push(Phase { name, node: Some(node), status: Status::Failed, seconds, says });
        }
        Err(Ends)
    }

    /// Everything held: right, but fast enough?
    fn judge(&mut self) {
        let (Some(last), Some(expected)) = (self.outcome.results.last(), &self.outcome.expected) else {
            self.outcome.verdict = Verdict::Ok;
            self.outcome.says = "every sum is right; no bandwidth was measured".into();
            return;
        };
        let part = last.bus / expected.bus;
        let speed = format!(
            "{:.2} GB/s busbw at {} MiB, {:.0} % of the {:.2} GB/s that the path carries",
            last.bus / 1e9,
            last.bytes >> 20,
            part * 100.0,
            expected.bus / 1e9
        );
        // Small data is a matter of latency, which no bandwidth tells of.
        let judged = last.bytes >= 16 << 20;
        self.outcome.verdict = if judged && part < expected.tolerance { Verdict::Slow } else { Verdict::Ok };
        self.outcome.says = match self.slow_link() {
            Some(link) => {
                self.outcome.verdict = Verdict::Slow;
                format!("{speed}; {link}")
            }
            None if self.outcome.verdict == Verdict::Slow => {
                format!("{speed}: the network is not the limit, the processors are")
            }
            None => format!("every sum is right; {speed}"),
        };
    }

    /// A link that carries less than half of what the others do.
    fn slow_link(&self) -> Option<String> {
        let links = &self.outcome.links;
        let (to, slowest) = links.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1))?;
        let others = median(links);
        let from = &self.places[(to + links.len() - 1) % links.len()].node;
        (*slowest < others / 2.0).then(|| {
            format!(
                "the link from {from} to {} carries {:.2} GB/s, the others {:.2}",
                self.places[to].node,
                slowest / 1e9,
                others / 1e9
            )
        })
    }

    /// `rank 2` with its node.
    fn named(&self, says: &str) -> String {
        let mut says = says.to_owned();
        for (rank, place) in self.places.iter().enumerate().rev() {
            let plain = format!("rank {rank} ");
            if place.node != plain.trim_end() {
                says = says.replace(&plain, &format!("rank {rank} ({}) ", place.node));
                says = says.replace(&format!("rank {rank}:"), &format!("rank {rank} ({}):", place.node));
            }
        }
        says
    }
}

async fn ask(place: &Place, task: Task, deadline: Duration) -> Result<Answer, String> {
    match place.session.ask(worker::Task::Rank(task), deadline).await {
        Ok(worker::Answer::Rank(answer)) => Ok(answer),
        Ok(other) => Err(format!("it answered {other:?}")),
        Err(failure) => Err(failure.says),
    }
}

fn unlike(answer: Result<Answer, String>) -> String {
    match answer {
        Ok(Answer::Broken(broken)) => broken.says,
        Ok(other) => format!("it answered {other:?}"),
        Err(why) => why,
    }
}
