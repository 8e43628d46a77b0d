//! `envdoc cluster down`.

use super::Source;
use super::inspecting::connected_to;
use super::work::{Format, Locking, json, layout, locked, to_its_end};
use crate::cli::output::Output;
use crate::cli::settings::SettingsFiles;
use ::cluster::lock;
use ::cluster::nodes::Limits;
use ::cluster::plan::{ClusterPlan, Node};
use ::cluster::progress::Progress;
use ::cluster::report::up::{SCHEMA, WorkReport, WorkStatus, rest};
use ::cluster::{down, kept, reach};
use diagnostic::Fix;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::engine::Engine;
use docker::interrupted;

/// Remove a cluster: its containers, settings and network.
///
/// Images and your files are kept. The report lists what else stays, and how to remove it.
///
/// Removes only what has the cluster's label. An interrupted run resumes when you run it again.
///
/// Nodes that were removed from the file since the last `up` are cleaned up too.
///
/// Exit code 1: something was not removed, for example on an unreachable node, or --leave-swarm was given and
/// the swarm was kept.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    /// Also make the nodes leave the swarm, if envdoc created it and nothing else is in it: no other node,
    /// service, secret, config, network or cluster.
    #[arg(long)]
    leave_swarm: bool,

    /// Also remove what the next `up` would reuse: the swarm (as --leave-swarm), the SSH keys in .envdoc/ssh,
    /// and the copies of envdoc in ~/.cache/envdoc of the nodes.
    #[arg(long)]
    purge: bool,

    #[command(flatten)]
    locking: Locking,

    /// Format of progress and report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster down
  envdoc cluster down --leave-swarm
  envdoc cluster down --purge";

impl Args {
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let progress = Progress::new(self.format == Format::Json);
        let report = to_its_end(async {
            let mut interrupted = std::pin::pin!(interrupted());
            let shown = self.format == Format::Text;
            let reached = tokio::select! {
                reached = connected_to(&plan.nodes, Limits::default(), shown) => reached,
                () = &mut interrupted => return None,
            };
            let nodes = reach::those(&reached);
            let work = self.remove(&plan, &nodes, &progress);
            let first = nodes.iter().find(|(node, _)| node.index == 0).map(|(_, engine)| *engine);
            let id = lock::run_id();
            let request = self.locking.change(&plan, first, (&id, "down"));
            let mut downed = match locked(request, &progress, work, interrupted).await {
                Ok(done) => done?,
                Err(problem) => down::Downed { problems: vec![problem], ..down::Downed::default() },
            };
            let mut access = reach::access(&reached);
            for problem in access.iter_mut().filter_map(|one| one.problem.as_mut()) {
                problem.message = format!("nothing was removed here: {}", problem.message);
                problem.fixes.push(Fix::restarts_service(
                    "Run it again when the node is reachable:",
                    &["envdoc cluster down"],
                ));
                downed.problems.push(problem.clone());
            }
            Some(WorkReport {
                schema: SCHEMA,
                envdoc: env!("CARGO_PKG_VERSION").into(),
                cluster: plan.name.clone(),
                status: if downed.problems.is_empty() { WorkStatus::Down } else { WorkStatus::Failed },
                steps: downed.steps,
                problems: downed.problems,
                notes: downed.notes,
                access,
            })
        })?;
        let Some(report) = report else {
            return Err(Error::new(Kind::Interrupted, "interrupted; the rest was not removed")
                .hint("resume with `envdoc cluster down`"));
        };
        match self.format {
            Format::Json => json(&report)?,
            Format::Text => {
                let ending = if report.status == WorkStatus::Down {
                    format!("{} is down\n", report.cluster)
                } else {
                    String::new()
                };
                terminal::print(&(rest(&report, layout()) + &ending))?;
            }
        }
        Ok(u8::from(report.status == WorkStatus::Failed))
    }

    async fn remove(
        &self,
        plan: &ClusterPlan,
        nodes: &[(&Node, &Engine)],
        progress: &Progress,
    ) -> down::Downed {
        let (former, unread) = down::former(plan, nodes).await;
        let mut nodes = nodes.to_vec();
        nodes.extend(former.iter().filter_map(|one| Some((&one.node, one.engine.as_ref().ok()?))));
        let leave_swarm = self.leave_swarm || self.purge;
        let mut downed = down::down(plan, &nodes, leave_swarm, progress).await;
        if self.purge {
            downed.take(kept::purge(plan, &nodes, progress).await);
        }
        downed.notes.extend(kept::notes(plan, &nodes, leave_swarm).await);
        downed.problems.extend(unread);
        downed.problems.extend(former.iter().filter_map(|one| down::not_cleaned(plan, one)));
        downed
    }
}
