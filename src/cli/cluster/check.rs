//! `envdoc cluster check`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use super::Reaching;
use crate::cli::fail_on::FailOn;
use crate::cli::format::Format;
use crate::cli::running::runtime;
use ::cluster::check::{self, Looked, Missing, NodeResults, Options};
use ::cluster::plan::ClusterPlan;
use ::cluster::report::check as report;
use checks::{self, CHECKS, fleet};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::terminal;
use facts::fleet::{Fleet, Member};
use facts::{Expected, Fact, gather};
use host::snapshot::Snapshot;

/// Look at every machine of a cluster, and at what lies between them.
///
/// On each machine what `envdoc check` looks at; then what must be the same on all of them (driver, GPUs, engine, toolkit, clock, code),
/// and what must arrive between them: the cluster's ports, packets as large as the interfaces allow, names. Machines are reached by the
/// endpoint of their engine: unix:// is this machine, ssh:// shows the whole machine, tcp:// its engine alone. Nothing is changed; --bring
/// copies envdoc into ~/.cache/envdoc of machines that lack it. Exit code 0: nothing at or above --fail-on; 1: findings; 2: envdoc could
/// not do its work; 3: with --strict, something could not be looked at.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cluster.
    #[arg(long, short, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,

    /// Judge recorded machines (made with `envdoc snapshot`) instead; what lies between them is unknown then.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["file", "bring"])]
    from: Vec<PathBuf>,

    /// Copy envdoc to machines that lack it, without a question.
    #[arg(long)]
    bring: bool,

    #[command(flatten)]
    reaching: Reaching,

    /// Seconds that looking at a machine may take; what has not answered by then is unknown.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = crate::cli::seconds)]
    timeout: Duration,

    /// Seconds that reading what must be the same on all machines may take.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = crate::cli::seconds)]
    content_timeout: Duration,

    /// The least severe finding that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,

    /// Exit with 3 when nothing was found but something could not be looked at.
    #[arg(long)]
    strict: bool,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Show evidence, and what passed.
    #[arg(long, short)]
    verbose: bool,
}

impl Args {
    /// Looks, judges, reports.
    pub fn run(self) -> Result<u8, Error> {
        let looked = match self.from.is_empty() {
            false => recorded(&self.from)?,
            true => self.look(&super::read(&self.file)?.1)?,
        };
        let results = fleet::judge(&looked.fleet);
        let text = || {
            let layout = Layout { root: true, ..Layout::of_screen(self.verbose) };
            report::text(&looked, &results, layout)
        };
        let json = || json::text(&report::json(&looked, &results));
        let text = self.format.write(|| report::report(&looked, &results), text, json)?;
        terminal::print(&text)?;
        Ok(self.fail_on.exit_code(&report::summary(&looked, &results), self.strict))
    }

    fn look(&self, plan: &ClusterPlan) -> Result<Looked, Error> {
        let options =
            Options { limits: self.reaching.limits(), look: self.timeout, content: self.content_timeout };
        let runtime = runtime()?;
        let looked = runtime.block_on(async {
            tokio::select! {
                looked = check::look(plan, options, |missing| self.bring || asked(missing)) => looked,
                _ = tokio::signal::ctrl_c() => Err(Error::new(Kind::Interrupted, "interrupted; nothing was changed on the machines")),
            }
        });
        runtime.shutdown_background();
        looked
    }
}

/// Asks on the terminal; without one the answer is no.
pub(super) fn asked(missing: &Missing) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    let bytes = u64::try_from(missing.bytes).unwrap_or(u64::MAX);
    terminal::note(&format!(
        "envdoc is missing on {}. Copy it there, {} each, into ~/.cache/envdoc? [y/N]",
        missing.nodes.join(", "),
        diagnostic::units::short_size(bytes)
    ));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

/// Recorded machines.
fn recorded(files: &[PathBuf]) -> Result<Looked, Error> {
    let why = "recorded machines hold nothing of what lies between them";
    let unknown = || why.to_owned();
    let (mut members, mut nodes) = (Vec::new(), Vec::new());
    for file in files {
        let facts = gather::recorded(&Snapshot::open(file)?.host(), Expected::default());
        let name = file
            .file_stem()
            .map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
        nodes.push(NodeResults {
            name: name.clone(),
            engine: file.display().to_string(),
            closed: None,
            hints: Vec::new(),
            results: checks::judge(CHECKS, &facts),
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
    Ok(Looked { fleet, nodes, notes: Vec::new() })
}
