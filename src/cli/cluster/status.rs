//! `envdoc cluster status`.

use super::Source;
use super::inspecting::{connecting, doing};
use super::work::{Format, layout, until_interrupted};
use crate::cli::output::Output;
use crate::cli::settings::SettingsFiles;
use ::cluster::check::Phase;
use ::cluster::report::status::{ClusterState, StatusReport, text};
use ::cluster::{reach, status};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;

/// Show the state of a cluster, node by node, and differences from its file.
///
/// Exit code 0: up, as described in the file; 1: something differs, or a node is unreachable.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster status
  envdoc cluster status -f cluster.yaml --format json";

impl Args {
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let found = until_interrupted(async {
            let waiting = connecting(plan.nodes.len());
            let reached = reach::connect(&plan).await;
            waiting.phase(doing(Phase::Read, plan.nodes.len()));
            let nodes: Vec<_> = reached.iter().map(|(node, engine)| (*node, engine.as_ref())).collect();
            status::status(&plan, &nodes).await
        })?;
        let found = found.ok_or_else(|| Error::new(Kind::Interrupted, "interrupted"))?;
        let report = StatusReport::new(&plan.name, found);
        match self.format {
            Format::Text => terminal::print(&text(&report, layout()))?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&report).unwrap_or_default();
                terminal::print(&(text + "\n"))?;
            }
        }
        Ok(u8::from(report.status != ClusterState::Up))
    }
}
