//! `envdoc check`.

use super::output::Output;
use catalog::Catalog;
use std::path::PathBuf;
use std::time::Duration;

use super::check_selection::{self, Selection};
use super::format::Format;
use super::headings::{EXIT_CODE, OUTPUT, SELECTION};
use super::interrupts::Interrupts;
use super::own_checks;
use super::settings::SettingsFiles;
use ::config::FailOn;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json::{self, IgnoredEntry};
use diagnostic::report::{Outcome, Summary};
use diagnostic::terminal;
use docker::live;
use facts::live::{Live, NotTried};
use facts::{self, Expected, Fact, Facts, gather};
use host::snapshot::Snapshot;
use judge::CheckResult;
use judge::report;

/// Check this machine: what is wrong with it, and how to fix it.
///
/// Own checks of settings files (docs/settings.md) run after the built-in ones.
///
/// Exit code 0: no finding at or above --fail-on; 1: findings; 2: envdoc could not run; 3: with --strict,
/// some checks could not run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Check the machine recorded in FILE (by `envdoc snapshot`) instead of this one; - reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "timeout"], help_heading = SELECTION)]
    from: Option<PathBuf>,

    /// Check the file system below DIR (an unpacked image, a chroot).
    ///
    /// Declare what it is with --expect role=container,gpus=0.
    #[arg(long, value_name = "DIR", help_heading = SELECTION, hide_short_help = true)]
    root: Option<PathBuf>,

    /// Run only these checks or groups.
    #[arg(long, value_name = "GROUP|ID", value_delimiter = ',', help_heading = SELECTION)]
    only: Vec<String>,

    /// Skip these checks or groups.
    #[arg(
        long,
        value_name = "GROUP|ID",
        value_delimiter = ',',
        env = "ENVDOC_IGNORE",
        hide_env_values = true,
        help_heading = SELECTION
    )]
    ignore: Vec<String>,

    /// What this machine should have: gpus=8,driver>=550,cuda=12.4.
    ///
    /// Keys: gpus, driver, cuda, nccl, rdma=true|false, role=build-host|gpu-node|container.
    #[arg(
        long,
        value_name = "KEY=VALUE",
        value_delimiter = ',',
        env = "ENVDOC_EXPECT",
        hide_env_values = true,
        help_heading = SELECTION
    )]
    expect: Vec<String>,

    /// Also start a container through the Docker engine and check that it gets the GPUs.
    #[arg(long, conflicts_with_all = ["from", "root"], help_heading = SELECTION)]
    live: bool,

    /// Image for --live; it must be on this machine [default: the smallest suitable one].
    #[arg(long, value_name = "IMAGE", requires = "live", help_heading = SELECTION, hide_short_help = true)]
    image: Option<String>,

    /// Overall timeout for reading the machine, in seconds [default: 2, on a busy machine up to 8].
    ///
    /// Whatever has not answered by then is reported as unknown.
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = super::values::seconds,
        help_heading = SELECTION,
        hide_short_help = true
    )]
    timeout: Option<Duration>,

    /// Lowest severity that makes the exit code 1 [default: error].
    #[arg(long, value_enum, help_heading = EXIT_CODE)]
    fail_on: Option<FailOn>,

    /// Exit with 3 if nothing was found but some checks could not run.
    #[arg(long, help_heading = EXIT_CODE)]
    strict: bool,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Show the evidence, and the checks that passed or do not apply.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sudo envdoc check                            # everything, this machine
  envdoc check --only driver,gpu --verbose     # two groups, with the evidence
  envdoc check --expect 'gpus=8,driver>=550'   # also fail if a GPU is missing
  envdoc check --from server.json              # a recorded machine";

/// The longest one step of `--live` may take; generous, because a machine without persistence mode
/// initialises its GPUs first.
const LIVE_STEP: Duration = Duration::from_secs(30);

impl Args {
    /// Gathers, judges, reports.
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        files: &SettingsFiles,
    ) -> Result<u8, Error> {
        let settings = files.read()?;
        // Commands of own checks run on this machine, and know nothing of a recorded one or of another root.
        let elsewhere = (self.from.is_some() || self.root.is_some()).then_some("leave out --from and --root");
        let Selection { checks, own, ignored } =
            check_selection::select(&settings, &self.only, &self.ignore, elsewhere)?;
        let expected = expected(settings.expected(), &self.expect)?;
        let mut facts = self.facts(catalog, expected, interrupts)?;
        if self.live {
            facts.live = self.look_inside(&facts, interrupts)?;
        }
        let results = judge::judge(&checks, &facts);
        let own: Vec<Outcome> = own.into_iter().map(own_checks::outcome).collect();
        terminal::print(&self.report(&facts, &results, &own, ignored)?)?;
        let verdicts = results.iter().map(|result| &result.verdict);
        let summary = Summary::of(verdicts.chain(own.iter().map(|outcome| &outcome.verdict)));
        Ok(settings.fail_on(self.fail_on).exit_code(&summary, settings.strict(self.strict)))
    }

    fn facts(
        &self,
        catalog: &'static Catalog,
        expected: Expected,
        interrupts: &Interrupts,
    ) -> Result<Facts, Error> {
        if let Some(file) = &self.from {
            return Ok(gather::recorded(&Snapshot::named(file)?.host(), expected, catalog));
        }
        super::read_machine(catalog, self.root.as_deref(), self.timeout, expected, interrupts)
            .map(|(_, facts)| facts)
    }

    fn look_inside(&self, facts: &Facts, interrupts: &Interrupts) -> Result<Fact<Live>, Error> {
        if let Fact::Unknown(why) = &facts.docker.info {
            return Ok(Fact::unknown(format!(
                "no container was started: the Docker engine did not answer: {why}"
            )));
        }
        let Fact::Known(endpoint) = facts.docker.endpoint.as_ref() else {
            return Ok(Fact::Unknown("no container was started: no Docker engine found".into()));
        };
        let gpus = facts.has_gpu() == Fact::Known(true);
        let request = live::Request {
            endpoint: endpoint.url.clone(),
            image: self.image.clone(),
            gpus,
            step: LIVE_STEP,
        };
        interrupts.leave_to_command();
        terminal::note("starting a test container (--live) ...");
        let answer = live::look(&request);
        interrupts.take_back();
        match answer {
            Err(NotTried::Interrupted) => {
                Err(Error::new(Kind::Interrupted, "interrupted; the test container was removed"))
            }
            answer => Ok(facts::live::of(answer, gpus, facts.catalog)),
        }
    }

    fn report(
        &self,
        facts: &Facts,
        results: &[CheckResult],
        own: &[Outcome],
        ignored: Vec<IgnoredEntry>,
    ) -> Result<String, Error> {
        let whole = || report::report(facts, results, own).without(ignored.clone());
        let text = || {
            let root = facts.system.uid == Fact::Known(0);
            diagnostic::render::text::report(&whole(), Layout { root, ..Layout::of_screen(self.verbose) })
        };
        self.format
            .write(whole, text, || json::text(&report::json::report(facts, results, own, ignored.clone())))
    }
}

/// What the options say, over what the settings say.
pub(super) fn expected(mut expected: Expected, texts: &[String]) -> Result<Expected, Error> {
    for text in texts.iter().filter(|text| !text.is_empty()) {
        expected.add(text).map_err(|error| {
            Error::new(Kind::Usage, format!("--expect: {error}"))
                .hint("for example: --expect 'gpus=8,driver>=550'")
        })?;
    }
    Ok(expected)
}
