//! A training job, from its start until nothing of it is left on any node.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::time::{Duration, Instant};

use docker::engine::Engine;
use docker::interrupted;

use crate::jobs::{self, Ended};
use crate::launch::{self, FirstFailure};
use crate::leftovers::{self, Leftover};
use crate::nodes::Limits;
use crate::oom::Watch;
use crate::plan::ClusterPlan;
use crate::request::Launcher;
use crate::watchdog::{Stall, Watchdog};
use crate::{job_oom, lock, reach};
use diagnostic::error::{Error, Kind};

/// How long a node that was lost may take to come back, so that the job can be ended there.
const LOST_NODE_TIMEOUT: Duration = Duration::from_secs(60);
const LOST_NODE_INTERVAL: Duration = Duration::from_secs(3);

/// What to run, and what happens to a rank that makes no progress.
#[derive(Debug, Clone)]
pub struct JobRequest<'r> {
    /// The program that starts the ranks.
    pub launcher: Launcher,
    /// The script, with its path inside the containers, and its arguments.
    pub script: &'r [String],
    /// After how long without progress a rank is reported; zero: ranks are not watched.
    pub stall: Duration,
    /// Whether the job is then stopped.
    pub stop_on_stall: bool,
    /// The mark of the job's processes.
    pub mark: &'r str,
}

/// What is seen of a job while it runs. Its text is a line for a terminal, or several.
#[derive(Debug)]
pub enum Notice<'n> {
    /// Processes of an earlier job still run: they hold GPUs, ports and memory.
    Leftover(&'n Leftover),
    /// Ranks make no progress.
    Stalled(&'n Stall),
    /// They do again.
    Continues,
    /// The job is stopped because ranks make no progress.
    Stopping,
    /// Nodes were lost, and may come back for so long.
    WaitingFor(Vec<&'n str>, Duration),
    /// Processes that could not be stopped: the node, how many or why nobody knows, and the job's mark.
    NotStopped(&'n str, &'n Result<u32, jobs::Error>, &'n str),
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Leftover(left) => write!(f, "warning: {left}"),
            Notice::Stalled(stall) => f.write_str(&stall.lines().join("\n")),
            Notice::Continues => f.write_str("the job makes progress again"),
            Notice::Stopping => f.write_str("stopping the job (--on-stall stop)"),
            Notice::WaitingFor(nodes, limit) => write!(
                f,
                "waiting up to {} s for {}, to stop the processes of the job there (Ctrl-C: do not wait)",
                limit.as_secs(),
                nodes.join(", ")
            ),
            Notice::NotStopped(node, left, mark) => {
                let message = match left {
                    Ok(count) => format!("could not stop {count} processes of the job"),
                    Err(why) => format!("processes of the job may still run there (no answer: {why})"),
                };
                write!(
                    f,
                    "{node}: {message}. Stop them when the node is reachable: `{}`; or on that machine: `{}`",
                    leftovers::stop_from_here(node, mark),
                    leftovers::stop_there(node, mark)
                )
            }
        }
    }
}

/// Receives what a job prints, and notices about it, while it runs.
pub trait Observer {
    /// A line that a node's programs printed; `error`: to standard error.
    fn line(&self, node: &str, error: bool, text: &str);
    /// Something worth knowing.
    fn notice(&self, notice: &Notice<'_>);
}

#[derive(Debug)]
pub struct JobOutcome {
    /// How the launchers ended; `None` after an interruption.
    pub ended: Option<Vec<Ended>>,
    /// Of each node how many of the job's processes are left, or why nobody knows.
    pub left: Vec<(String, Result<u32, jobs::Error>)>,
    /// What the kernel's out-of-memory killer did meanwhile.
    pub memory: Vec<String>,
    /// What failed first; `None` where all went well.
    pub failure: Option<String>,
}

/// Runs a job on all nodes, whose engines are given in the plan's order, and stops whatever it leaves.
///
/// # Errors
/// When the launcher cannot start the script: none is set, or the first node's container does not take its
/// variables.
pub async fn run(
    plan: &ClusterPlan,
    engines: &[(String, &Engine)],
    request: &JobRequest<'_>,
    observer: &impl Observer,
) -> Result<JobOutcome, Error> {
    let mark = request.mark;
    let jobs = launch::jobs(plan, engines, request.launcher, request.script, mark)?;
    warn_of_leftovers(engines, plan, observer).await;
    let deepspeed = engines.first().filter(|_| request.launcher == Launcher::Deepspeed);
    if let Some((node, engine)) = deepspeed {
        launch::mark_ranks(engine, node, mark).await.map_err(|why| {
            Error::new(Kind::Engine, format!("{node}: {why}"))
                .hint("check the cluster with `envdoc cluster status`; start it with `envdoc cluster up`")
        })?;
    }
    let first = FirstFailure::of(plan);
    let memory = Watch::start(all(engines)).await;
    let output = Cell::new(Instant::now());
    let line = |node: &str, error: bool, text: &str| {
        output.set(Instant::now());
        first.line(node, text);
        observer.line(node, error, text);
    };
    let ended = tokio::select! {
        ended = jobs::run(jobs, engines, mark, true, &first.alarm, &line) => Some(ended),
        never = watched(plan, engines, request, &output, &first, observer) => match never {},
        () = interrupted() => None,
    };
    // Stops whatever is left of the job.
    let mut left = jobs::end_all(all(engines), mark).await;
    if ended.is_some() {
        end_on_lost(plan, mark, &mut left, observer).await;
    }
    if let Some((node, engine)) = deepspeed {
        launch::unmark_ranks(engine, node, mark).await;
    }
    for (node, left) in left.iter().filter(|(_, left)| *left != Ok(0)) {
        observer.notice(&Notice::NotStopped(node, left, mark));
    }
    let Some(ended) = ended else {
        return Ok(JobOutcome { ended: None, left, memory: Vec::new(), failure: None });
    };
    let memory = job_oom::lines(&memory.end().await, &ended, &first);
    let failure = launch::verdict(&ended, &first);
    Ok(JobOutcome { ended: Some(ended), left, memory, failure })
}

/// Watches the ranks until the job ends.
async fn watched(
    plan: &ClusterPlan,
    engines: &[(String, &Engine)],
    request: &JobRequest<'_>,
    output: &Cell<Instant>,
    first: &FirstFailure,
    observer: &impl Observer,
) -> Infallible {
    if request.stall.is_zero() {
        return std::future::pending().await;
    }
    let ranks = plan.nodes.iter().map(|node| node.slots as usize).sum();
    let user = plan.ssh.as_ref().map(|ssh| ssh.user.as_str());
    let report = |stall: Option<&Stall>| {
        let Some(stall) = stall else { return observer.notice(&Notice::Continues) };
        observer.notice(&Notice::Stalled(stall));
        if request.stop_on_stall {
            observer.notice(&Notice::Stopping);
            first.alarm.notify_one();
        }
    };
    Watchdog::new(ranks, request.stall).watch(engines, (request.mark, user), output, report).await
}

/// Names processes of an earlier job that still run.
async fn warn_of_leftovers(engines: &[(String, &Engine)], plan: &ClusterPlan, observer: &impl Observer) {
    let Some((_, first)) = engines.first() else { return };
    let Ok(holders) = lock::holders(plan, first).await else { return };
    for left in leftovers::find(engines, &holders).await {
        observer.notice(&Notice::Leftover(&left));
    }
}

/// Ends what is left of a job on nodes that were lost, when they come back before the deadline.
async fn end_on_lost(
    plan: &ClusterPlan,
    mark: &str,
    left: &mut [(String, Result<u32, jobs::Error>)],
    observer: &impl Observer,
) {
    let lost: Vec<&str> =
        left.iter().filter(|(_, left)| left.is_err()).map(|(node, _)| node.as_str()).collect();
    if lost.is_empty() {
        return;
    }
    observer.notice(&Notice::WaitingFor(lost, LOST_NODE_TIMEOUT));
    let deadline = tokio::time::Instant::now() + LOST_NODE_TIMEOUT;
    let again = async {
        while left.iter().any(|(_, left)| left.is_err()) {
            tokio::time::sleep(LOST_NODE_INTERVAL).await;
            for (node, left) in left.iter_mut().filter(|(_, left)| left.is_err()) {
                let nodes = plan.nodes.iter().filter(|one| one.name == *node);
                let reached = reach::connect_to(nodes, Limits::default()).await;
                if let Some((_, Ok(engine))) = reached.first() {
                    let ended = jobs::end_all(std::iter::once((node.as_str(), engine)), mark).await;
                    *left = ended.into_iter().next().map_or(Ok(0), |(_, ended)| ended);
                }
            }
        }
    };
    tokio::select! {
        _ = tokio::time::timeout_at(deadline, again) => {}
        () = interrupted() => {}
    }
}

fn all<'e>(engines: &'e [(String, &'e Engine)]) -> impl Iterator<Item = (&'e str, &'e Engine)> {
    engines.iter().map(|(node, engine)| (node.as_str(), *engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_left_come_with_the_commands_that_stop_them() {
        let text = Notice::NotStopped("node2", &Ok(3), "abc").to_string();
        assert!(text.starts_with("node2: could not stop 3 processes of the job. "), "{text}");
        assert!(
            text.contains("`envdoc cluster exec node2 -- sh -c ") && text.contains("`docker exec node2 ")
        );
        assert_eq!(
            Notice::WaitingFor(vec!["node2", "node3"], LOST_NODE_TIMEOUT).to_string(),
            "waiting up to 60 s for node2, node3, to stop the processes of the job there (Ctrl-C: do not \
                wait)"
        );
    }
}
