//! `envdoc cluster launch`.

use std::time::Duration;

use clap::ValueEnum;

use super::Source;
use super::exec::{engines, first_engine};
use super::inspecting::connected;
use super::work::{Locking, layout, lock_notice, lock_refused, stopped};
use crate::cli::settings::SettingsFiles;
use crate::cli::values;
use ::cluster::job::{self, JobOutcome, JobRequest, Notice, Observer};
use ::cluster::jobs;
use ::cluster::lock::{self, Access, Held};
use ::cluster::plan::ClusterPlan;
use ::cluster::reach;
use ::cluster::report::jobs::{Prefixed, table};
use ::cluster::report::unreached;
use ::cluster::request::Launcher;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
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

    /// Warn about a rank that makes no progress for this many seconds: no output of the job, and almost
    /// no CPU time, I/O or network traffic of the rank. 0: do not watch.
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
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let runtime = runtime()?;
        runtime.block_on(self.on_all(&plan))
    }

    async fn on_all(&self, plan: &ClusterPlan) -> Result<u8, Error> {
        let launcher = match self.launcher {
            Some(With::Deepspeed) => Launcher::Deepspeed,
            Some(With::Torchrun) => Launcher::Torchrun,
            None => plan.launcher,
        };
        let reached = connected(plan).await;
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
        let observer = Terminal {
            prefixed: Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), engines.len() > 1),
        };
        let request = JobRequest {
            launcher,
            script: &self.script,
            stall: self.stall,
            stop_on_stall: self.on_stall == OnStall::Stop,
            mark: &id,
        };
        let outcome = held.during(job::run(plan, &engines, &request, &observer)).await;
        held.release().await;
        reported(outcome?)
    }
}

/// Shows how a job ended; the exit code.
fn reported(outcome: JobOutcome) -> Result<u8, Error> {
    let Some(ended) = outcome.ended else { return Err(stopped(&outcome.left)) };
    terminal::note(table(&ended).trim_end());
    outcome.memory.iter().for_each(|line| terminal::note(line));
    match outcome.failure {
        None => terminal::note("the job succeeded on every node"),
        Some(message) => terminal::note(&format!("the job failed: {message}")),
    }
    Ok(jobs::exit_code(&ended))
}

/// Shows on this terminal what a job prints and what becomes of it.
struct Terminal {
    prefixed: Prefixed,
}

impl Observer for Terminal {
    fn line(&self, node: &str, error: bool, text: &str) {
        self.prefixed.line(node, error, text);
    }

    fn notice(&self, notice: &Notice<'_>) {
        terminal::note(&notice.to_string());
    }
}
