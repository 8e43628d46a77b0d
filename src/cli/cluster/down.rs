//! `envdoc cluster down`.

use super::Source;
use super::work::{Format, json, layout, until_interrupted};
use ::cluster::report::progress::Progress;
use ::cluster::report::up::{SCHEMA, WorkReport, rest};
use ::cluster::{down, reach};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;

/// Take a cluster down: its containers, its settings and its network. Images and the users' files stay.
///
/// Only what carries the cluster's label is removed. Exit code 1: something is left, for example on a node that could not be reached;
/// run again, it goes on from there.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Have the nodes leave the swarm too, where nobody else is in it.
    #[arg(long)]
    leave_swarm: bool,

    /// How progress and report are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Args {
    /// Takes it down.
    pub fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let progress = Progress::new(self.format == Format::Json);
        let report = until_interrupted(async {
            let reached = reach::connect(&plan).await;
            let mut downed = down::down(&plan, &reach::those(&reached), self.leave_swarm, &progress).await;
            for problem in reached.iter().filter_map(|(_, engine)| engine.as_ref().err()) {
                let mut problem = problem.clone();
                problem.says = format!("what is on it is left: {}", problem.says);
                downed.problems.push(problem.fix("`envdoc cluster down` again, when it can be reached"));
            }
            WorkReport {
                schema: SCHEMA,
                envdoc: env!("CARGO_PKG_VERSION").into(),
                cluster: plan.name.clone(),
                status: if downed.problems.is_empty() { "down" } else { "failed" }.into(),
                steps: downed.steps,
                problems: downed.problems,
                notes: downed.notes,
            }
        })?;
        let Some(report) = report else {
            return Err(Error::new(Kind::Interrupted, "interrupted: the rest is left")
                .hint("`envdoc cluster down` again goes on from here"));
        };
        match self.format {
            Format::Json => json(&report)?,
            Format::Text => {
                let ending = if report.status == "down" {
                    format!("{} is down\n", report.cluster)
                } else {
                    String::new()
                };
                terminal::print(&(rest(&report, layout()) + &ending))?;
            }
        }
        Ok(u8::from(report.status == "failed"))
    }
}
