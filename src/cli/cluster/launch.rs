//! `envdoc cluster launch`.

use clap::ValueEnum;

use super::Source;
use super::exec::engines;
use super::work::stopped;
use ::cluster::jobs;
use ::cluster::launch::{self, FirstFailure};
use ::cluster::plan::ClusterPlan;
use ::cluster::reach;
use ::cluster::report::jobs::{Prefixed, table};
use ::cluster::request::Launcher;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::engine::Engine;
use docker::{interrupted, runtime};

/// Run a training script on all nodes with the launcher of cluster.yaml, and show the output of all ranks.
///
/// If a rank or node fails, the others are stopped instead of holding their GPUs, and the report shows which
/// one failed first, and how. Ctrl-C stops all ranks on all nodes.
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

    /// The script, with its path inside the containers, and its arguments.
    #[arg(last = true, required = true, value_name = "SCRIPT")]
    script: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster launch -- /workspace/train.py --epochs 3
  envdoc cluster launch --launcher torchrun -- /workspace/train.py";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum With {
    /// The DeepSpeed launcher, from the first node over SSH.
    Deepspeed,
    /// torchrun on every node.
    Torchrun,
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
        if let Some(gone) = gone.first() {
            let why = gone.status.as_ref().err().map_or(String::new(), ToString::to_string);
            return Err(Error::new(Kind::Engine, format!("{} is unreachable: {why}", gone.node))
                .hint("a job requires all nodes; check them with `envdoc cluster status`"));
        }
        let mark = jobs::mark();
        let jobs = launch::jobs(plan, &engines, launcher, &self.script, &mark)?;
        if let (Launcher::Deepspeed, Some((node, engine))) = (launcher, engines.first()) {
            launch::mark_ranks(engine, node, &mark).await.map_err(|why| {
                Error::new(Kind::Engine, format!("{node}: {why}"))
                    .hint("check the cluster with `envdoc cluster status`; start it with `envdoc cluster up`")
            })?;
        }
        let first = FirstFailure::of(plan);
        let prefixed = Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), engines.len() > 1);
        let line = |node: &str, error: bool, text: &str| {
            first.line(node, text);
            prefixed.line(node, error, text);
        };
        let ended = tokio::select! {
            ended = jobs::run(jobs, &engines, &mark, true, &first.alarm, &line) => Some(ended),
            () = interrupted() => None,
        };
        // Stops whatever is left of the job.
        let left = jobs::end_all(all(&engines), &mark).await;
        if let (Launcher::Deepspeed, Some((node, engine))) = (launcher, engines.first()) {
            launch::unmark_ranks(engine, node, &mark).await;
        }
        let Some(ended) = ended else { return Err(stopped(&left)) };
        terminal::note(table(&ended).trim_end());
        match launch::verdict(&ended, &first) {
            None => terminal::note("the job succeeded on every node"),
            Some(says) => terminal::note(&format!("the job failed: {says}")),
        }
        for (node, left) in &left {
            match left {
                Ok(0) => {}
                Ok(count) => terminal::note(&format!("{node}: could not stop {count} processes of the job")),
                Err(why) => {
                    terminal::note(&format!("{node}: could not check for remaining processes: {why}"))
                }
            }
        }
        Ok(jobs::exit_code(&ended))
    }
}

fn all<'e>(engines: &'e [(String, &'e Engine)]) -> impl Iterator<Item = (&'e str, &'e Engine)> {
    engines.iter().map(|(node, engine)| (node.as_str(), *engine))
}
