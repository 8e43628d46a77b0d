//! `envdoc cluster launch`.

use std::cell::Cell;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::Source;
use super::exec::{engines, first_engine};
use super::work::{Locking, layout, lock_notice, lock_refused, stopped};
use crate::cli::values;
use ::cluster::job_oom;
use ::cluster::jobs;
use ::cluster::launch::{self, FirstFailure};
use ::cluster::leftovers;
use ::cluster::lock::{self, Access, Held};
use ::cluster::nodes::Limits;
use ::cluster::oom::Watch;
use ::cluster::plan::ClusterPlan;
use ::cluster::reach;
use ::cluster::report::jobs::{Prefixed, table};
use ::cluster::report::unreached;
use ::cluster::request::Launcher;
use ::cluster::watchdog::{Stall, Watchdog};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::engine::Engine;
use docker::{interrupted, runtime};

/// Run a training script on all nodes with the launcher of cluster.yaml, and show the output of all ranks.
///
/// If a rank or node fails, the others are stopped instead of holding their GPUs, and the report shows which
/// one failed first, and how, also if the OOM killer ended it. Ctrl-C stops all ranks on all nodes.
///
/// A rank that makes no progress for --stall seconds is reported with its node, its process and the command
/// that shows its stack; the exit code stays that of the job. After a node is lost, its processes are stopped
/// if it comes back within 60 s; otherwise the report shows the command that stops them.
///
/// Exit code: the largest of the launchers' exit codes (255 if one is unknown).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    /// Launcher to use instead of that of cluster.yaml.
    #[arg(long, value_enum)]
    launcher: Option<With>,

    /// Warn about a rank that makes no progress for so many seconds: no output of the job, and almost no CPU
    /// time, I/O or network traffic of the rank. 0: do not watch.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = values::seconds_or_off)]
    stall: Duration,

    /// Action for a stalled rank.
    #[arg(long, value_enum, default_value_t = OnStall::Warn)]
    on_stall: OnStall,

    #[command(flatten)]
    locking: Locking,

    /// The script, with its path inside the containers, and its arguments.
    #[arg(last = true, required = true, value_name = "SCRIPT")]
    script: Vec<String>,
}

/// How long a node that was lost may take to come back, so that the job can be ended there.
const LOST_NODE_TIMEOUT: Duration = Duration::from_secs(60);
const LOST_NODE_INTERVAL: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  envdoc cluster launch -- /workspace/train.py --epochs 3
  envdoc cluster launch --stall 600 --on-stall stop -- /workspace/train.py
  envdoc cluster launch --launcher torchrun -- /workspace/train.py";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum With {
    /// The DeepSpeed launcher, from the first node over SSH.
    Deepspeed,
    /// torchrun on every node.
    Torchrun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnStall {
    /// Report it on standard error, and let the job run: a rank may wait for something that takes long.
    Warn,
    /// Also stop the job on all nodes.
    Stop,
}

impl Args {
    pub(super) fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let runtime = runtime()?;
        runtime.block_on(self.on_all(&plan))
    }

    async fn on_all(&self, plan: &ClusterPlan) -> Result<u8, Error> {
        let launcher = match self.launcher {
            Some(With::Deepspeed) => Launcher::Deepspeed,
            Some(With::Torchrun) => Launcher::Torchrun,
            None => plan.launcher,
        };
        let reached = reach::connect(plan).await;
        let places: Vec<usize> = (0..plan.nodes.len()).collect();
        let (engines, gone) = engines(&reached, &places);
        if !gone.is_empty() {
            terminal::note(unreached::nodes(&reach::access(&reached), layout()).trim_end());
            let message = format!("{} of {} nodes cannot be used", gone.len(), plan.nodes.len());
            return Err(Error::new(Kind::Engine, message)
                .hint("a job requires all nodes; check them with `envdoc cluster status`"));
        }
        let id = lock::run_id();
        let request = self.locking.using(plan, first_engine(&reached), (&id, "launch"), Access::Run);
        let held = Held::take(request, lock_notice, interrupted()).await;
        let held = held
            .map_err(|why| lock_refused(&why))?
            .ok_or_else(|| Error::new(Kind::Interrupted, "interrupted; no job was started"))?;
        let code = held.during(self.job(plan, &engines, launcher, &id)).await;
        held.release().await;
        code
    }

    /// The job, and the end of whatever it leaves.
    async fn job(
        &self,
        plan: &ClusterPlan,
        engines: &[(String, &Engine)],
        launcher: Launcher,
        mark: &str,
    ) -> Result<u8, Error> {
        let jobs = launch::jobs(plan, engines, launcher, &self.script, mark)?;
        warn_of_leftovers(engines, plan).await;
        if let (Launcher::Deepspeed, Some((node, engine))) = (launcher, engines.first()) {
            launch::mark_ranks(engine, node, mark).await.map_err(|why| {
                Error::new(Kind::Engine, format!("{node}: {why}"))
                    .hint("check the cluster with `envdoc cluster status`; start it with `envdoc cluster up`")
            })?;
        }
        let first = FirstFailure::of(plan);
        let prefixed = Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), engines.len() > 1);
        let memory = Watch::start(all(engines)).await;
        let output = Cell::new(Instant::now());
        let line = |node: &str, error: bool, text: &str| {
            output.set(Instant::now());
            first.line(node, text);
            prefixed.line(node, error, text);
        };
        let ended = tokio::select! {
            ended = jobs::run(jobs, engines, mark, true, &first.alarm, &line) => Some(ended),
            never = self.watched(plan, engines, mark, &output, &first) => match never {},
            () = interrupted() => None,
        };
        // Stops whatever is left of the job.
        let mut left = jobs::end_all(all(engines), mark).await;
        if ended.is_some() {
            end_on_lost(plan, mark, &mut left).await;
        }
        if let (Launcher::Deepspeed, Some((node, engine))) = (launcher, engines.first()) {
            launch::unmark_ranks(engine, node, mark).await;
        }
        tell_left(&left, mark);
        let Some(ended) = ended else { return Err(stopped(&left)) };
        terminal::note(table(&ended).trim_end());
        job_oom::lines(&memory.end().await, &ended, &first).iter().for_each(|line| terminal::note(line));
        match launch::verdict(&ended, &first) {
            None => terminal::note("the job succeeded on every node"),
            Some(message) => terminal::note(&format!("the job failed: {message}")),
        }
        Ok(jobs::exit_code(&ended))
    }
}

impl Args {
    /// Watches the ranks until the job ends.
    async fn watched(
        &self,
        plan: &ClusterPlan,
        engines: &[(String, &Engine)],
        mark: &str,
        output: &Cell<Instant>,
        first: &FirstFailure,
    ) -> Infallible {
        if self.stall.is_zero() {
            return std::future::pending().await;
        }
        let ranks = plan.nodes.iter().map(|node| node.slots as usize).sum();
        let user = plan.ssh.as_ref().map(|ssh| ssh.user.as_str());
        let report = |stall: Option<&Stall>| {
            let Some(stall) = stall else { return terminal::note("the job makes progress again") };
            stall.lines().iter().for_each(|line| terminal::note(line));
            if self.on_stall == OnStall::Stop {
                terminal::note("stopping the job (--on-stall stop)");
                first.alarm.notify_one();
            }
        };
        Watchdog::new(ranks, self.stall).watch(engines, (mark, user), output, report).await
    }
}

/// Names processes of an earlier job that still run: they hold GPUs, ports and memory.
async fn warn_of_leftovers(engines: &[(String, &Engine)], plan: &ClusterPlan) {
    let Some((_, first)) = engines.first() else { return };
    let Ok(holders) = lock::holders(plan, first).await else { return };
    for left in leftovers::find(engines, &holders).await {
        terminal::note(&format!("warning: {left}"));
    }
}

/// Reports processes of a job that could not be stopped, with the commands that stop them.
fn tell_left(left: &[(String, Result<u32, jobs::Error>)], mark: &str) {
    for (node, left) in left.iter().filter(|(_, left)| *left != Ok(0)) {
        let message = match left {
            Ok(count) => format!("could not stop {count} processes of the job"),
            Err(why) => format!("processes of the job may still run there (no answer: {why})"),
        };
        terminal::note(&format!(
            "{node}: {message}. Stop them when the node is reachable: `{}`; or on that machine: `{}`",
            leftovers::stop_from_here(node, mark),
            leftovers::stop_there(node, mark)
        ));
    }
}

/// Ends what is left of a job on nodes that were lost, when they come back before the deadline.
async fn end_on_lost(plan: &ClusterPlan, mark: &str, left: &mut [(String, Result<u32, jobs::Error>)]) {
    let lost: Vec<&str> =
        left.iter().filter(|(_, left)| left.is_err()).map(|(node, _)| node.as_str()).collect();
    if lost.is_empty() {
        return;
    }
    let seconds = LOST_NODE_TIMEOUT.as_secs();
    terminal::note(&format!(
        "waiting up to {seconds} s for {}, to stop the processes of the job there (Ctrl-C: do not wait)",
        lost.join(", ")
    ));
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
