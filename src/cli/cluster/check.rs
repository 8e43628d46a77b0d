//! `envdoc cluster check`.

use catalog::Catalog;
use std::path::PathBuf;
use std::time::Duration;

use super::Reaching;
use super::inspecting::Inspecting;
use crate::cli::format::Format;
use crate::cli::headings::{CONNECTION, EXIT_CODE, OUTPUT};
use crate::cli::output::Output;
use crate::cli::settings::{self, SettingsFiles};
use ::cluster::check::{self, Access, Inspection, NodeResults, Notice, Options};
use ::cluster::plan::ClusterPlan;
use ::cluster::report::check as report;
use ::config::FailOn;
use checks::CHECKS;
use checks::fleet::FLEET_CHECKS;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json::{self, IgnoredEntry};
use diagnostic::render::text;
use diagnostic::terminal;
use docker::runtime;
use facts::fleet::{Fleet, Member};
use facts::{Expected, Fact, gather};
use host::snapshot::Snapshot;
use judge::fleet::{self, FleetResult};

/// Check every machine of a cluster, and the network between them.
///
/// Runs `envdoc check` on each machine, then compares what must be equal on all (driver, GPUs, engine,
/// toolkit, clock, code) and tests the network: the cluster's ports, MTU, names. Connects through the engine
/// of each node: unix:// is this machine, ssh:// gives access to the machine, tcp:// only to its engine.
/// Changes nothing, except that --bring copies envdoc into ~/.cache/envdoc of machines that lack it.
///
/// Exit code 0: no finding at or above --fail-on; 1: findings; 2: envdoc could not run; 3: nothing found, but
/// a machine is unreachable or none could be inspected; with --strict also if some checks could not run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Cluster file [default: cluster.yaml].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Check recorded machines (made with `envdoc snapshot`) instead; network tests are skipped.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["file", "bring"])]
    from: Vec<PathBuf>,

    /// Copy envdoc to machines that lack it without asking.
    #[arg(long, help_heading = CONNECTION)]
    bring: bool,

    #[command(flatten)]
    reaching: Reaching,

    /// Timeout for reading one machine, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "5",
        value_parser = crate::cli::values::seconds,
        help_heading = CONNECTION,
        hide_short_help = true
    )]
    timeout: Duration,

    /// Timeout for reading the contents that must be equal on all machines, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "120",
        value_parser = crate::cli::values::seconds,
        help_heading = CONNECTION,
        hide_short_help = true
    )]
    content_timeout: Duration,

    /// Lowest severity that makes the exit code 1 [default: error].
    #[arg(long, value_enum, help_heading = EXIT_CODE)]
    fail_on: Option<FailOn>,

    /// Exit with 3 if nothing was found but some checks could not run.
    #[arg(long, help_heading = EXIT_CODE)]
    strict: bool,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Show the evidence, and the checks that passed.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster check                             # the cluster in ./cluster.yaml
  envdoc cluster check -f cluster.yaml --bring     # copy envdoc to nodes that lack it
  envdoc cluster check --from gpu1.json gpu2.json  # recorded machines";

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog, files: &SettingsFiles) -> Result<u8, Error> {
        let settings = files.read()?;
        let mut inspection = match self.from.is_empty() {
            false => recorded(catalog, &self.from)?,
            true => {
                let path = super::path(self.file.as_deref(), &settings)?;
                self.look(catalog, &super::read(&path)?.1)?
            }
        };
        let left_out = settings::left_out(&settings, |ignore| {
            settings::is_of(&ignore.id, CHECKS) || settings::is_of(&ignore.id, FLEET_CHECKS)
        });
        for node in &mut inspection.nodes {
            node.results.retain(|one| !left_out.iter().any(|out| settings::is_of(&out.id, [&one.check])));
        }
        let mut results = fleet::judge(FLEET_CHECKS, &inspection.fleet);
        results.retain(|one| !left_out.iter().any(|out| settings::is_of(&out.id, [&one.check])));
        terminal::print(&self.report(&inspection, &results, &settings::entries(&left_out))?)?;
        let summary = report::summary(&inspection, &results);
        let code = settings.fail_on(self.fail_on).exit_code(&summary, settings.strict(self.strict));
        Ok(if code == 0 && inspection.incomplete() { 3 } else { code })
    }

    fn report(
        &self,
        inspection: &Inspection,
        results: &[FleetResult],
        ignored: &[IgnoredEntry],
    ) -> Result<String, Error> {
        let text = || {
            let layout = Layout { root: true, ..Layout::of_screen(self.verbose) };
            let mut text = report::text(inspection, results, layout);
            text::ignored(&mut text, ignored, layout);
            text
        };
        let json = || json::text(&report::json(inspection, results, ignored.to_vec()));
        let whole = || report::report(inspection, results).without(ignored.to_vec());
        self.format.write(whole, text, json)
    }

    fn look(&self, catalog: &'static Catalog, plan: &ClusterPlan) -> Result<Inspection, Error> {
        let options = Options {
            catalog,
            checks: CHECKS,
            limits: self.reaching.limits(),
            look: self.timeout,
            content: self.content_timeout,
        };
        let waiting = Inspecting::new();
        let consent = |missing: &_| self.bring || waiting.asked(missing);
        let notice = |notice: Notice<'_>| waiting.notice(notice);
        let runtime = runtime()?;
        runtime.block_on(async {
            tokio::select! {
                inspection = check::look(plan, options, consent, notice) => inspection,
                _ = tokio::signal::ctrl_c() => {
                    Err(Error::new(Kind::Interrupted, "interrupted; no machine was changed"))
                },
            }
        })
    }
}

fn recorded(catalog: &'static Catalog, files: &[PathBuf]) -> Result<Inspection, Error> {
    let why = "recorded machines do not include the network between them";
    let unknown = || why.to_owned();
    let (mut members, mut nodes) = (Vec::new(), Vec::new());
    for file in files {
        let facts = gather::recorded(&Snapshot::open(file)?.host(), Expected::default(), catalog);
        let name = file
            .file_stem()
            .map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
        nodes.push(NodeResults {
            name: name.clone(),
            engine: file.display().to_string(),
            access: Access::Inspected,
            closed: None,
            fixes: Vec::new(),
            cause: None,
            results: judge::judge(CHECKS, &facts),
            seconds: 0.0,
        });
        members.push(Member {
            address: name.clone(),
            name,
            facts,
            identity: Fact::unknown(unknown()),
            skew: Fact::unknown(unknown()),
            contents: Default::default(),
            image: Fact::unknown(unknown()),
        });
    }
    let fleet = Fleet {
        members,
        pairs: Vec::new(),
        not_tried: Some(unknown()),
        same_content: Vec::new(),
        image: None,
    };
    Ok(Inspection { fleet, nodes, notes: Vec::new() })
}
