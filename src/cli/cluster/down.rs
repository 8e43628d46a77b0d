//! `envdoc cluster down`.

use super::Source;
use super::work::{Format, json, layout, until_interrupted};
use ::cluster::report::progress::Progress;
use ::cluster::report::up::{SCHEMA, WorkReport, rest};
use ::cluster::{down, reach};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;

/// Remove a cluster: its containers, settings and network. Images and your files are kept.
///
/// Removes only what has the cluster's label. An interrupted run resumes when you run it again.
///
/// Exit code 1: something was not removed, for example on an unreachable node.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Also make the nodes leave the swarm, if no other node is in it.
    #[arg(long)]
    leave_swarm: bool,

    /// Format of progress and report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster down
  envdoc cluster down --leave-swarm";

impl Args {
    pub fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let progress = Progress::new(self.format == Format::Json);
        let report = until_interrupted(async {
            let reached = reach::connect(&plan).await;
            let mut downed = down::down(&plan, &reach::those(&reached), self.leave_swarm, &progress).await;
            for problem in reached.iter().filter_map(|(_, engine)| engine.as_ref().err()) {
                let mut problem = problem.clone();
                problem.says = format!("nothing was removed here: {}", problem.says);
                downed
                    .problems
                    .push(problem.fix("run `envdoc cluster down` again when the node is reachable"));
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
            return Err(Error::new(Kind::Interrupted, "interrupted; the rest was not removed")
                .hint("resume with `envdoc cluster down`"));
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
