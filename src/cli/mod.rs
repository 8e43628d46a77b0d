//! The command line: one file a verb, its arguments and its `run`.

mod build;
mod catalog;
mod check;
mod checks;
pub mod cluster;
mod diagnose;
pub mod explain;
mod fail_on;
mod format;
mod host_mirrors;
pub mod image;
mod inspect;
mod lint;
mod locking;
mod logs;
mod matrix;
mod registry;
mod render;
mod resolve;
mod running;
mod several;
mod smoke;
mod snapshot;
mod wishes;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::road::Roads;
use facts::{Expected, Facts, gather};
use host;
use host::live::Live;
use host::record::Recorder;

/// Environment doctor and container image builder for GPU servers.
///
/// Says what this machine is, what is wrong with it, and what to type next; which versions of driver, CUDA, Python, torch and DeepSpeed
/// go together; builds the image of them and proves it. Never reports "fine" where it could not look.
#[derive(Debug, Parser)]
#[command(name = "envdoc", disable_version_flag = true, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Print the version; with -v also which catalog is used.
    #[arg(short = 'V', long)]
    version: bool,

    /// With --version: say more.
    #[arg(short, long, requires = "version")]
    verbose: bool,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Resolve(Box<resolve::Args>),
    Render(Box<render::Args>),
    Build(Box<build::Args>),
    Cluster(cluster::Args),
    Matrix(matrix::Args),
    Snapshot(snapshot::Args),
    Lint(lint::Args),
    Inspect(inspect::Args),
    Smoke(smoke::Args),
    Diagnose(diagnose::Args),
    Explain(explain::Args),
    Checks(checks::Args),
    Catalog(catalog::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

impl Cli {
    /// The command line that this program was started with; ends it where that cannot be understood.
    #[expect(
        clippy::disallowed_methods,
        reason = "the words of the command line, and whether they are files"
    )]
    pub fn of_this_program() -> Cli {
        Cli::parse_from(several::spread(std::env::args_os(), |word| Path::new(word).is_file()))
    }

    /// Runs the command; the exit code is documented in docs/exit-codes.md.
    pub fn run(self) -> Result<u8, Error> {
        if let Some(dir) = catalog::directory() {
            ::catalog::cache::install(dir, terminal::note);
        }
        let Some(command) = self.command.filter(|_| !self.version) else {
            return terminal::print(&catalog::version(self.verbose)).map(|()| 0);
        };
        match command {
            Command::Check(args) => args.run(),
            Command::Resolve(args) => args.run(),
            Command::Render(args) => args.run(),
            Command::Build(args) => args.run(),
            Command::Cluster(args) => args.run(),
            Command::Matrix(args) => args.run(),
            Command::Snapshot(args) => args.run(),
            Command::Lint(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Smoke(args) => args.run(),
            Command::Diagnose(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Checks(args) => args.run(),
            Command::Catalog(args) => args.run(),
            Command::Worker(args) => args.run(),
        }
    }
}

/// Looks at this machine, or at the file system below a directory, for as long as `timeout`: what was read, and what it means.
fn look(root: Option<&Path>, timeout: Duration, expected: Expected) -> Result<(Recorder, Facts), Error> {
    let deadline = Instant::now() + timeout;
    // Programs and engines are given up a little before gathering is, so that what did not answer is named by itself and
    // not only as "too late".
    let early = deadline - timeout / 20;
    let host = match root {
        None => Live::new(early).with_engines(Arc::new(Roads::default())),
        Some(root) => Live::below(&root.to_string_lossy(), early).map_err(|error| {
            Error::new(Kind::File, format!("cannot look below {}: {error}", root.display()))
                .hint("--root wants a directory")
        })?,
    };
    let recorder = Recorder::new(Arc::new(host));
    let facts = gather(&recorder, deadline, expected);
    Ok((recorder, facts))
}

/// Whether a container is being looked into, which cleans up after itself when interrupted.
static LOOKING_INSIDE: AtomicBool = AtomicBool::new(false);

/// Gathers from this machine. From now on Ctrl-C ends the programs that were started, and then envdoc: they are in process groups
/// of their own, which the terminal does not reach.
fn gather(host: &Recorder, deadline: Instant, expected: Expected) -> Facts {
    let watch = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        if let Ok(Ok(())) = runtime.map(|runtime| runtime.block_on(tokio::signal::ctrl_c())) {
            host::end_programs();
            if !LOOKING_INSIDE.load(Ordering::SeqCst) {
                #[expect(clippy::exit, reason = "the other threads may be held by the kernel")]
                std::process::exit(Kind::Interrupted.exit_code().into());
            }
        }
    };
    // Without the thread Ctrl-C ends envdoc alone, as it would any program.
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(watch);
    gather::live(host, deadline, expected)
}

/// A number of seconds, greater than zero: `2`, `0.5`.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() && seconds <= 3600.0 => Ok(duration),
        _ => Err("must be greater than 0 and at most 3600".into()),
    }
}
