//! `envdoc cluster up`.

use std::sync::Arc;

use super::Source;
use super::work::{Format, json, layout, until_interrupted};
use ::cluster::keys::{self, Keys};
use ::cluster::plan::ClusterPlan;
use ::cluster::problem::Problem;
use ::cluster::reach;
use ::cluster::report::progress::{Outcome, Progress};
use ::cluster::report::up::{SCHEMA, WorkReport, planned, rest};
use ::cluster::secrets::{self, Value};
use ::cluster::up::{self, Work};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::auth::Logins;
use docker::client;

/// Start a cluster: one swarm, one network, one image, and a container on every node, connected by name and
/// SSH.
///
/// Each step checks the current state and changes only what differs: a second `up` changes nothing, and an
/// interrupted run resumes when you run it again. Other clusters and swarms are not touched.
///
/// Exit code 1: a step failed; the report shows on which node, why, and how to fix it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Check every node, print what would be done, and exit.
    #[arg(long)]
    dry_run: bool,

    /// Format of progress and report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster up --dry-run
  envdoc cluster up -f cluster.yaml";

impl Args {
    pub fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let progress = Progress::new(self.format == Format::Json);
        let logins = Arc::new(client::find(None)?.logins);
        let secrets = if self.dry_run { Vec::new() } else { secrets::read(&plan)? };
        let keys = match &plan.ssh {
            Some(_) if !self.dry_run => {
                Some(keys::load_or_make(&keys::directory(plan.origin.as_deref()), &plan)?)
            }
            _ => None,
        };
        let done = until_interrupted(carry_out(&plan, &progress, (logins, keys, secrets), self.dry_run))?;
        let Some(report) = done else {
            return Err(Error::new(Kind::Interrupted, "interrupted; completed steps are kept")
                .hint("`envdoc cluster status` shows the state, `up` resumes, `down` removes everything"));
        };
        self.print(&report)?;
        Ok(u8::from(report.status == "failed"))
    }

    fn print(&self, report: &WorkReport) -> Result<(), Error> {
        if self.format == Format::Json {
            return json(report);
        }
        if report.status == "planned" {
            return terminal::print(&planned(report, layout()));
        }
        let ending = match report.status.as_str() {
            "up" => format!("{} is up\n", report.cluster),
            "unchanged" => format!("{} is already up; nothing was changed\n", report.cluster),
            _ => "\nNot up. `envdoc cluster status` shows the state, `up` resumes, `down` removes \
                everything.\n"
                .to_owned(),
        };
        terminal::print(&(rest(report, layout()) + &ending))
    }
}

async fn carry_out(
    plan: &ClusterPlan,
    progress: &Progress,
    (logins, keys, secrets): (Arc<Logins>, Option<Keys>, Vec<Value>),
    dry_run: bool,
) -> WorkReport {
    let mut report = WorkReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        cluster: plan.name.clone(),
        status: "failed".into(),
        steps: Vec::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let reached = reach::connect(plan).await;
    let nodes = match reach::whole(&reached) {
        Ok(nodes) => nodes,
        Err(problems) => {
            for problem in &problems {
                progress.done(
                    "connect",
                    problem.node.as_deref().unwrap_or_default(),
                    "not reached",
                    Outcome::Failed,
                );
            }
            report.problems = problems;
            return report;
        }
    };
    let work = Work::new(plan, nodes, progress, logins, keys, secrets);
    let result: Result<(), Vec<Problem>> = match dry_run {
        true => up::planned(&work).await,
        false => up::up(&work).await,
    };
    report.status = match &result {
        Err(_) => "failed",
        Ok(()) if dry_run => "planned",
        Ok(()) if work.changed() => "up",
        Ok(()) => "unchanged",
    }
    .into();
    report.problems = result.err().unwrap_or_default();
    report.steps = work.steps.take();
    report.notes.extend(work.notes.take());
    report
}
