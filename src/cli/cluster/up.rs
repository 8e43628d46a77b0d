//! `envdoc cluster up`.

use std::sync::Arc;

use super::Source;
use super::inspecting::connected_to;
use super::work::{Format, Locking, json, layout, locked, to_its_end};
use crate::cli::output::Output;
use crate::cli::settings::SettingsFiles;
use ::cluster::keys::{self, Keys};
use ::cluster::lock;
use ::cluster::nodes::Limits;
use ::cluster::plan::ClusterPlan;
use ::cluster::problem::Problem;
use ::cluster::progress::Progress;
use ::cluster::reach;
use ::cluster::report::up::{SCHEMA, WorkReport, WorkStatus, planned, rest};
use ::cluster::secrets::{self, Value};
use ::cluster::up::{self, Work};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::auth::Logins;
use docker::{client, interrupted};

/// Start a cluster: one swarm, one network, one image, and a container on every node, connected by name and
/// SSH.
///
/// Each step checks the current state and changes only what differs: a second `up` changes nothing, and an
/// interrupted run resumes when you run it again. Other clusters and swarms are not touched. A container in
/// which something runs that `up` did not start is restarted only with --restart.
///
/// Exit code 1: a step failed; the report shows on which node, why, and how to fix it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    /// Check every node, print what would be done, and exit.
    #[arg(long)]
    dry_run: bool,

    /// Stop processes that run in containers which must be restarted, recreated or removed (jobs, shells,
    /// logins); without it such a container is left as it is and `up` fails.
    #[arg(long)]
    restart: bool,

    /// Do not clean up this node, which was removed from the file and is gone for good.
    #[arg(long, value_name = "NODE")]
    forget: Vec<String>,

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
  envdoc cluster up --dry-run
  envdoc cluster up --restart  # also where jobs run in the containers
  envdoc cluster up -f cluster.yaml";

impl Args {
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let progress = Progress::new(self.format == Format::Json);
        let logins = Arc::new(client::find(None)?.logins);
        let (secrets, unread) = match secrets::read(&plan) {
            Ok(secrets) => (secrets, None),
            Err(why) if self.dry_run => (Vec::new(), Some(why)),
            Err(why) => return Err(why),
        };
        let directory = keys::directory(plan.origin.as_deref());
        let keys = match &plan.ssh {
            Some(_) if self.dry_run => keys::load(&directory, &plan)?,
            Some(_) => Some(keys::load_or_make(&directory, &plan)?),
            None => None,
        };
        let done = to_its_end(self.carry_out(&plan, &progress, (logins, keys, secrets)))?;
        let Some(mut report) = done else {
            return Err(Error::new(Kind::Interrupted, "interrupted; completed steps are kept")
                .hint("`envdoc cluster status` shows the state, `up` resumes, `down` removes everything"));
        };
        report.notes.extend(unread.map(|why| {
            format!("secrets were not compared, and `up` stops until they can be read: {}", why.message)
        }));
        self.print(&report)?;
        Ok(u8::from(report.status == WorkStatus::Failed))
    }

    fn print(&self, report: &WorkReport) -> Result<(), Error> {
        if self.format == Format::Json {
            return json(report);
        }
        if report.status == WorkStatus::Planned {
            return terminal::print(&planned(report, layout()));
        }
        let ending = match report.status {
            WorkStatus::Up => format!("{} is up\n", report.cluster),
            WorkStatus::Unchanged => format!("{} is already up; nothing was changed\n", report.cluster),
            _ => "\nNot up. `envdoc cluster status` shows the state, `up` resumes, `down` removes \
                everything.\n"
                .to_owned(),
        };
        terminal::print(&(rest(report, layout()) + &ending))
    }
}

impl Args {
    async fn carry_out(
        &self,
        plan: &ClusterPlan,
        progress: &Progress,
        (logins, keys, secrets): (Arc<Logins>, Option<Keys>, Vec<Value>),
    ) -> Option<WorkReport> {
        let mut report = WorkReport {
            schema: SCHEMA,
            envdoc: env!("CARGO_PKG_VERSION").into(),
            cluster: plan.name.clone(),
            status: WorkStatus::Failed,
            steps: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            access: Vec::new(),
        };
        let mut interrupted = std::pin::pin!(interrupted());
        let shown = self.format == Format::Text;
        let reached = tokio::select! {
            reached = connected_to(&plan.nodes, Limits::default(), shown) => reached,
            () = &mut interrupted => return None,
        };
        let nodes = match reach::whole(&reached) {
            Ok(nodes) => nodes,
            Err(problems) => {
                for problem in &problems {
                    progress.not_reached(problem.node.as_deref().unwrap_or_default());
                }
                report.problems = problems;
                report.access = reach::access(&reached);
                return Some(report);
            }
        };
        let first = nodes.first().map(|(_, engine)| *engine);
        let mut work = Work::new(plan, nodes, progress, logins, keys, secrets);
        work.restart = self.restart;
        work.forget.clone_from(&self.forget);
        let id = lock::run_id();
        let result: Result<(), Vec<Problem>> = if self.dry_run {
            tokio::select! {
                planned = up::planned(&work) => planned,
                () = &mut interrupted => return None,
            }
        } else {
            let request = self.locking.change(plan, first, (&id, "up"));
            match locked(request, progress, up::up(&work), interrupted).await {
                Ok(done) => done?,
                Err(problem) => Err(vec![problem]),
            }
        };
        report.status = match &result {
            Err(_) => WorkStatus::Failed,
            Ok(()) if self.dry_run => WorkStatus::Planned,
            Ok(()) if work.changed() => WorkStatus::Up,
            Ok(()) => WorkStatus::Unchanged,
        };
        report.problems = result.err().unwrap_or_default();
        report.steps = work.steps.take();
        report.notes.extend(work.notes.take());
        Some(report)
    }
}
