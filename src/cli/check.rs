//! `envdoc check`.

use diagnostic::suggest::nearest;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::fail_on::FailOn;
use super::format::Format;
use checks::report;
use checks::{self, CHECKS, Check, CheckResult, Group};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::report::Summary;
use diagnostic::terminal;
use docker::live;
use facts::live::{Live, NotTried};
use facts::{self, Expected, Fact, Facts, gather};
use host::snapshot::Snapshot;

/// Look at this machine and say what is wrong with it.
///
/// Exit code 0: nothing at or above --fail-on; 1: findings; 2: envdoc could not do its work; 3: with --strict, something could not be looked at.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Judge a recorded machine (made with `envdoc snapshot`) instead of this one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "timeout"])]
    from: Option<PathBuf>,

    /// Examine the file system below DIR (an image's, a chroot's) instead of this machine's; say what it is with --expect role=container,gpus=0.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Run only these checks or groups of checks.
    #[arg(long, value_name = "GROUP|ID", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave these checks or groups out.
    #[arg(long, value_name = "ID", value_delimiter = ',', env = "ENVDOC_IGNORE")]
    ignore: Vec<String>,

    /// Say what this machine should be: gpus=8, driver>=550, cuda=12.4, nccl>=2.20, rdma=true, role=build-host|gpu-node|container.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', env = "ENVDOC_EXPECT")]
    expect: Vec<String>,

    /// The least severe finding that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,

    /// Exit with 3 when nothing was found but something could not be looked at.
    #[arg(long)]
    strict: bool,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Show evidence, and what passed or does not apply.
    #[arg(long, short)]
    verbose: bool,

    /// Also start one real container through the engine and look from inside whether the GPUs arrived.
    #[arg(long, conflicts_with_all = ["from", "root"])]
    live: bool,

    /// The image for --live; it must be here already. Without it the smallest one that can be used.
    #[arg(long, value_name = "IMAGE", requires = "live")]
    image: Option<String>,

    /// Seconds that looking may take in all; what has not answered by then is unknown.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = super::seconds)]
    timeout: Duration,
}

/// The longest one step of `--live` may take; generous, because a machine without persistence mode initialises its GPUs first.
const LIVE_STEP: Duration = Duration::from_secs(30);

impl Args {
    /// Gathers, judges, reports.
    pub fn run(self) -> Result<u8, Error> {
        let chosen = choose(&self.only, &self.ignore)?;
        let mut facts = self.facts(expected(&self.expect)?)?;
        if self.live {
            facts.live = self.look_inside(&facts)?;
        }
        let results = checks::judge(&chosen, &facts);
        terminal::print(&self.report(&facts, &results)?)?;
        Ok(self.fail_on.exit_code(&Summary::of(results.iter().map(|result| &result.verdict)), self.strict))
    }

    fn facts(&self, expected: Expected) -> Result<Facts, Error> {
        if let Some(file) = &self.from {
            return Ok(gather::recorded(&Snapshot::open(file)?.host(), expected));
        }
        super::look(self.root.as_deref(), self.timeout, expected).map(|(_, facts)| facts)
    }

    fn look_inside(&self, facts: &Facts) -> Result<Fact<Live>, Error> {
        if let Fact::Unknown(why) = &facts.docker.info {
            return Ok(Fact::unknown(format!("no container was started: the engine cannot be asked: {why}")));
        }
        let Fact::Known(endpoint) = facts.docker.endpoint.as_ref() else {
            return Ok(Fact::Unknown("no container was started: there is no engine here".into()));
        };
        let gpus = facts.has_gpu() == Fact::Known(true);
        let request = live::Request {
            endpoint: endpoint.url.clone(),
            image: self.image.clone(),
            gpus,
            step: LIVE_STEP,
        };
        super::LOOKING_INSIDE.store(true, Ordering::SeqCst);
        terminal::note("starting a container to look from inside (--live) ...");
        match live::look(&request) {
            Err(NotTried::Interrupted) => {
                Err(Error::new(Kind::Interrupted, "interrupted; the container was removed"))
            }
            answer => Ok(facts::live::of(answer, gpus)),
        }
    }

    fn report(&self, facts: &Facts, results: &[CheckResult]) -> Result<String, Error> {
        let whole = || report::report(facts, results);
        let text = || {
            let root = facts.system.uid == Fact::Known(0);
            diagnostic::render::text::report(&whole(), Layout { root, ..Layout::of_screen(self.verbose) })
        };
        self.format.write(whole, text, || json::text(&report::json::report(facts, results)))
    }
}

fn expected(texts: &[String]) -> Result<Expected, Error> {
    let mut expected = Expected::default();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        expected.add(text).map_err(|error| {
            Error::new(Kind::Usage, format!("--expect {error}"))
                .hint("for example: --expect 'gpus=8,driver>=550'")
        })?;
    }
    Ok(expected)
}

fn choose(only: &[String], ignore: &[String]) -> Result<Vec<&'static Check>, Error> {
    let names = |name: &str, check: &Check| check.id == name || check.group.id() == name;
    for (option, name) in only.iter().map(|n| ("--only", n)).chain(ignore.iter().map(|n| ("--ignore", n))) {
        if !name.is_empty() && !CHECKS.iter().any(|check| names(name, check)) {
            let known = CHECKS.iter().map(|check| check.id).chain(Group::ALL.iter().map(|group| group.id()));
            let error = Error::new(Kind::Usage, format!("{option}: there is no check or group {name:?}"));
            let error = match nearest(name, known) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            };
            return Err(error.hint("`envdoc checks` lists them all"));
        }
    }
    let wanted = |check: &&&'static Check| {
        (only.iter().all(String::is_empty) || only.iter().any(|name| names(name, check)))
            && !ignore.iter().any(|name| names(name, check))
    };
    Ok(CHECKS.iter().filter(wanted).copied().collect())
}
