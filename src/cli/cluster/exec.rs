//! `envdoc cluster exec`.

use tokio::sync::Notify;

use super::inspecting::connected_to;
use super::work::{Locking, layout, lock_notice, lock_refused};
use super::{Reaching, Source};
use crate::cli::settings::SettingsFiles;
use ::cluster::jobs::{self, Ended, Job};
use ::cluster::lock::{self, Access, Held};
use ::cluster::plan::{ClusterPlan, Node};
use ::cluster::reach;
use ::cluster::report::jobs::{Prefixed, table};
use ::cluster::report::unreached;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::engine::Engine;
use docker::exec::Command;
use docker::{interrupted, runtime};

/// Run a program in the container of one node, or of all nodes in parallel.
///
/// Prefixes each line with the name of its node. Ctrl-C stops everything it started.
///
/// Exit code: that of the program; with several nodes, the largest (255 if one is unknown).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    reaching: Reaching,

    #[command(flatten)]
    locking: Locking,

    /// Name of a node, several separated by commas, or `all`.
    #[arg(value_name = "NODE")]
    node: String,

    /// The program and its arguments; no shell is added.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster exec all -- nvidia-smi -L
  envdoc cluster exec node1,node2 -- sh -c 'df -h /dev/shm'";

/// Indexes of the named nodes.
pub(super) fn chosen(plan: &ClusterPlan, names: &str) -> Result<Vec<usize>, Error> {
    if names == "all" {
        return Ok((0..plan.nodes.len()).collect());
    }
    let index_of = |name: &str| {
        plan.nodes.iter().position(|node| node.name == name).ok_or_else(|| {
            let known: Vec<_> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
            Error::new(Kind::Usage, format!("unknown node {name:?}; expected {} or all", known.join(", ")))
        })
    };
    names.split(',').map(index_of).collect()
}

/// The engines of some nodes, and the failures to reach the others.
pub(super) fn engines<'r>(
    reached: &'r [(&cluster::plan::Node, Result<Engine, cluster::problem::Problem>)],
    places: &[usize],
) -> (Vec<(String, &'r Engine)>, Vec<Ended>) {
    let (mut engines, mut gone) = (Vec::new(), Vec::new());
    for index in places {
        let (node, engine) = &reached[*index];
        match engine {
            Ok(engine) => engines.push((node.name.clone(), engine)),
            Err(problem) => gone.push(Ended {
                node: node.name.clone(),
                status: Err(jobs::Error::Unreachable(Box::new(problem.clone()))),
                seconds: 0.0,
                stopped: false,
            }),
        }
    }
    (engines, gone)
}

/// The engine of the cluster's first node, where it was reached.
pub(in crate::cli) fn first_engine<'r>(
    reached: &'r [(&Node, Result<Engine, cluster::problem::Problem>)],
) -> Option<&'r Engine> {
    reached.iter().find(|(node, _)| node.index == 0).and_then(|(_, engine)| engine.as_ref().ok())
}

impl Args {
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let places = chosen(&plan, &self.node)?;
        let runtime = runtime()?;
        let ended = runtime.block_on(self.on_all(&plan, &places))?;
        if ended.len() > 1 || ended.iter().any(|end| end.status.is_err()) {
            terminal::note(table(&ended).trim_end());
        }
        Ok(jobs::exit_code(&ended))
    }

    async fn on_all(&self, plan: &ClusterPlan, places: &[usize]) -> Result<Vec<Ended>, Error> {
        let mut nodes: Vec<&Node> = places.iter().map(|index| &plan.nodes[*index]).collect();
        // The lock is on the first node.
        nodes.extend(plan.nodes.first().filter(|_| !places.contains(&0)));
        let reached = connected_to(nodes, self.reaching.limits(), true).await;
        let every: Vec<usize> = (0..places.len()).collect();
        let (engines, gone) = engines(&reached, &every);
        let asked = &reached[..places.len()];
        if asked.iter().any(|(_, engine)| engine.is_err()) {
            terminal::note(unreached::nodes(&reach::access(asked), layout()).trim_end());
        }
        let id = lock::run_id();
        let request = self.locking.using(plan, first_engine(&reached), (&id, "exec"), Access::Run);
        let held = Held::take(request, lock_notice, interrupted()).await;
        let held = held.map_err(|why| lock_refused(&why))?.ok_or_else(|| super::work::stopped(&[]))?;
        let ended = held.during(self.in_containers(plan, &engines, &id)).await;
        held.release().await;
        let mut ended = ended?;
        ended.extend(gone);
        ended.sort_by_key(|end| plan.nodes.iter().position(|node| node.name == end.node));
        Ok(ended)
    }

    async fn in_containers(
        &self,
        plan: &ClusterPlan,
        engines: &[(String, &Engine)],
        mark: &str,
    ) -> Result<Vec<Ended>, Error> {
        let command = Command { argv: self.command.clone(), ..Command::default() };
        let jobs: Vec<Job<'_>> = engines
            .iter()
            .map(|(node, engine)| Job {
                node: node.clone(),
                container: node.clone(),
                engine,
                command: command.clone(),
            })
            .collect();
        let prefixed = Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), self.several(plan));
        let line = |node: &str, error: bool, text: &str| prefixed.line(node, error, text);
        let alarm = Notify::new();
        tokio::select! {
            ended = jobs::run(jobs, engines, mark, false, &alarm, &line) => Ok(ended),
            () = interrupted() => {
                let containers = engines.iter().map(|(node, engine)| (node.as_str(), *engine));
                let left = jobs::end_all(containers, mark).await;
                Err(super::work::stopped(&left))
            }
        }
    }

    fn several(&self, plan: &ClusterPlan) -> bool {
        chosen(plan, &self.node).is_ok_and(|places| places.len() > 1)
    }
}
