//! One task on every rank, and who is named when the ring breaks.

use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::ask::{UNRESPONSIVE, ask};
use super::{PEER_GRACE, PhaseRunner};
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::smoke::rank_task::{Answer, Task};
use crate::worker::Failure;

/// What a rank reports when the ring breaks.
struct Fault {
    rank: usize,
    /// The rank that did not do its part, where that is known.
    culprit: Option<usize>,
    /// Whether a time limit ended it.
    late: bool,
    message: String,
}

/// What came of one task on every rank.
struct Collected {
    answers: Vec<Option<Answer>>,
    /// Whether a rank answered or failed in time.
    answered: Vec<bool>,
    /// The likeliest cause first.
    faults: Vec<Fault>,
}

impl PhaseRunner<'_> {
    /// A task on every rank; the first one that breaks is the one that is named, because it pulls the others
    /// down.
    pub(super) async fn each(
        &mut self,
        task: impl Fn(usize) -> Task,
        id: PhaseId,
        start: Instant,
    ) -> Result<Vec<Answer>, PhaseFailed> {
        let Collected { answers, answered, mut faults } = self.collect(task).await;
        if faults.is_empty() {
            return Ok(answers.into_iter().flatten().collect());
        }
        if faults.iter().all(|fault| fault.late) {
            let starved = self.starved().await;
            if !starved.is_empty() {
                return self.not_judged(id, start, &faults[0].message, starved).map(|()| Vec::new());
            }
        }
        // One that ended was the first; then one that is silent; the others tell of those two.
        let ended = faults.iter().take_while(|fault| Some(fault.rank) == fault.culprit).count();
        for (rank, _) in answered.iter().enumerate().filter(|(_, answered)| !**answered) {
            faults
                .insert(ended, Fault { rank, culprit: Some(rank), late: true, message: UNRESPONSIVE.into() });
        }
        let failed = faults.into_iter().map(|fault| {
            let node = self.endpoints[fault.rank].node.clone();
            let message = format!("{node}: {}", fault.message);
            (node, message)
        });
        let failed = failed.collect();
        self.outcome.finish_phase(id, start, failed, "").map(|()| Vec::new())
    }

    /// Asks all ranks; once one has failed, the others are waited for a moment only.
    async fn collect(&self, task: impl Fn(usize) -> Task) -> Collected {
        // The ring ends by itself when it stalls; this is for a worker that is stopped altogether.
        let deadline = self.options.stall * 4 + Duration::from_secs(60);
        let asked = self.endpoints.iter().enumerate().map(|(rank, endpoint)| {
            let asked = ask(endpoint, task(rank), deadline);
            async move { (rank, asked.await) }
        });
        let mut running: FuturesUnordered<_> = asked.collect();
        let world = self.endpoints.len();
        let mut all =
            Collected { answers: vec![None; world], answered: vec![false; world], faults: Vec::new() };
        let mut last: Option<tokio::time::Instant> = None;
        loop {
            let next = match last {
                None => running.next().await,
                // What one has noticed the others notice soon, if they can tell at all.
                Some(until) => tokio::time::timeout_at(until, running.next()).await.ok().flatten(),
            };
            let Some((rank, answer)) = next else { return all };
            if let Some(wait) = self.grace(&answer) {
                let until = tokio::time::Instant::now() + wait;
                last = Some(last.map_or(until, |last| last.min(until)));
            }
            all.answered[rank] = true;
            self.progress.node(&self.endpoints[rank].node, !matches!(answer, Ok(Answer::Broken(_)) | Err(_)));
            match answer {
                Ok(Answer::Broken(why)) => {
                    let message = why.message(&|rank| self.rank_name(rank));
                    let (culprit, late) = (why.culprit(), why.is_late());
                    all.faults.push(Fault { rank, culprit, late, message });
                }
                Ok(answer) => all.answers[rank] = Some(answer),
                // It ended: nobody else can have been the first.
                Err(failure) => {
                    let (culprit, message) = (Some(rank), failure.message);
                    all.faults.insert(0, Fault { rank, culprit, late: false, message });
                }
            }
        }
    }

    /// How long the other ranks have after this answer; `None` for as long as they need.
    fn grace(&self, answer: &Result<Answer, Failure>) -> Option<Duration> {
        // Whoever broke has waited for as long as a connection may stall; of one that is gone the
        // others learn only then.
        match answer {
            Ok(Answer::Broken(_)) => Some(PEER_GRACE),
            Ok(_) => None,
            Err(_) => Some(self.options.stall + PEER_GRACE),
        }
    }
}
