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

/// Make a cluster: one swarm, one network, one image, a container on every node, each reaching the others by name and SSH.
///
/// Every step looks first and changes only what differs: a second `up` changes nothing and says so, and one that stopped is gone on with
/// by running it again. Nothing of another cluster or swarm is touched. Exit code 1: a step failed, and the report says on which node,
/// why, and what to do.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Look at every node, say what would be done, and stop.
    #[arg(long)]
    dry_run: bool,

    /// How progress and report are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Args {
    /// Makes it.
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
            return Err(Error::new(Kind::Interrupted, "interrupted: what was done so far stays").hint(
                "`envdoc cluster status` says what is there, `up` goes on with it, `down` removes it",
            ));
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
            "unchanged" => format!("{} is up already: nothing was changed\n", report.cluster),
            _ => "\nNot up. `envdoc cluster status` says what is there; `up` goes on with it, `down` removes it.\n".to_owned(),
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
