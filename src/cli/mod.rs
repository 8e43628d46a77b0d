//! The command line: one file per command, with its arguments and its `run`.

mod arguments;
mod build;
mod catalog;
mod check;
mod check_selection;
mod checks;
pub mod cluster;
mod completions;
pub mod config;
mod diagnose;
pub mod explain;
mod format;
mod headings;
pub mod image;
mod inspect;
mod interrupts;
mod lint;
mod lint_files;
mod logs;
mod man;
mod matrix;
pub mod mcp;
mod output;
mod own_checks;
mod project_args;
mod render;
mod resolve;
mod run;
mod settings;
mod several;
mod smoke;
mod snapshot;
mod stack_args;
mod trust;
mod values;
mod worker;

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use ::catalog::Catalog;
use ::catalog::cache::Cache;
use diagnostic::error::{Error, Kind};
use diagnostic::{terminal, visible};
use docker::transport::Transports;
use facts::{Expected, Facts, gather};
use host::live::Live;
use host::load::{self, Load};
use host::record::Recorder;
use interrupts::Interrupts;

/// Environment doctor and container image builder for GPU servers.
///
/// Checks drivers, CUDA, NCCL, the container toolkit, Docker and the Python stack, and shows how to fix what
/// is wrong; finds compatible versions of driver, CUDA, Python, torch and DeepSpeed; builds and verifies the
/// image. What could not be checked is reported as unknown, never as healthy.
#[derive(Debug, Parser)]
#[command(name = "envdoc", disable_version_flag = true, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Print the version; with -v also the catalog files in use.
    #[arg(short = 'V', long)]
    version: bool,

    /// With --version: show details.
    #[arg(short, long, requires = "version")]
    verbose: bool,

    #[command(flatten)]
    settings: settings::SettingsFiles,

    #[command(flatten)]
    screen: output::Screen,

    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  sudo envdoc check
  envdoc diagnose job.log
  envdoc resolve --cuda 12.4 --deepspeed";

/// Printed without arguments.
const GUIDE: &str = "\
envdoc: environment doctor and container image builder for GPU servers

  envdoc check                              # find what is wrong with this machine
  envdoc diagnose job.log                   # find the root cause in the logs of a failed job
  envdoc resolve --cuda 12.4 --deepspeed    # find compatible versions of driver, CUDA, torch, ...
  envdoc build --request request.yaml       # build and verify a container image
  envdoc lint .                             # find mistakes in Dockerfiles and training settings

`envdoc --help` lists all commands; `envdoc COMMAND -h` shows the options and examples of one.
";

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
    Mcp(mcp::Args),
    Catalog(catalog::Args),
    Config(config::Args),
    Trust(trust::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Complete(completions::Complete),
    #[command(hide = true)]
    Man(man::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

impl Cli {
    /// The command line of this process. `Err`: it is invalid, or asked for help; the text is printed, and
    /// the exit code is this.
    pub fn of_this_program() -> Result<Cli, u8> {
        let words =
            several::spread(host::variables::command_line(), |word| host::file::is_file(Path::new(word)));
        arguments::parse(words.clone()).map_err(|error| {
            // A line end in an argument, such as a file's name, would begin a line that looks like envdoc's.
            let shown = |word: &OsString| OsString::from(visible::line(&word.to_string_lossy()).into_owned());
            let shown: Vec<_> = words.iter().map(shown).collect();
            let error = arguments::parse(shown).err().unwrap_or(error);
            let text = error.render().ansi().to_string();
            if error.use_stderr() {
                terminal::note(text.trim_end());
            } else {
                let _ = terminal::print(&text);
            }
            u8::try_from(error.exit_code()).unwrap_or(2)
        })
    }

    /// Runs the command; the exit code is documented in docs/exit-codes.md.
    pub fn run(self) -> Result<u8, Error> {
        self.screen.apply();
        let catalog = open_catalog();
        if self.version {
            return terminal::print(&catalog::version(catalog, self.verbose)).map(|()| 0);
        }
        let Some(command) = self.command else {
            return terminal::print(GUIDE).map(|()| 0);
        };
        let interrupts = &Interrupts::default();
        match command {
            Command::Check(args) => args.output.clone().of(|| args.run(catalog, interrupts, &self.settings)),
            Command::Resolve(args) => args.output.clone().of(|| args.run(catalog, interrupts)),
            Command::Render(args) => args.run(catalog, interrupts, &self.settings),
            Command::Build(args) => args.output.clone().of(|| args.run(catalog, interrupts, &self.settings)),
            Command::Cluster(args) => args.run(catalog, interrupts, &self.settings),
            Command::Matrix(args) => args.output.clone().of(|| args.run(catalog)),
            Command::Snapshot(args) => args.run(catalog, interrupts),
            Command::Lint(args) => args.output.clone().of(|| args.run(catalog, interrupts, &self.settings)),
            Command::Inspect(args) => args.output.clone().of(|| args.run(catalog, interrupts)),
            Command::Smoke(args) => args.output.clone().of(|| args.run(catalog, interrupts, &self.settings)),
            Command::Diagnose(args) => args.output.clone().of(|| args.run(catalog, interrupts)),
            Command::Explain(args) => args.output.clone().of(|| args.run(catalog, &self.settings)),
            Command::Checks(args) => args.output.clone().of(|| args.run()),
            Command::Mcp(args) => args.run(catalog, interrupts, self.settings),
            Command::Catalog(args) => args.run(catalog),
            Command::Config(args) => args.output.clone().of(|| args.run(&self.settings)),
            Command::Trust(args) => args.run(&self.settings),
            Command::Completions(args) => args.run(),
            Command::Complete(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Worker(args) => args.run(),
        }
    }
}

/// The catalog of this user, which the program owns for as long as it runs: rows are borrowed from it by what
/// is made of them, in whichever thread.
fn open_catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| match catalog::directory() {
        Some(dir) => Catalog::with_cache(Cache::new(dir, terminal::note)),
        None => Catalog::embedded(),
    })
}

/// The time limit ran out, for which the load may be the reason.
fn late(limit: Duration, Load { threads, cpus }: Load) -> String {
    format!(
        "warning: reading this machine took longer than {:.1} s; it is busy ({threads} runnable threads, \
            {cpus} CPUs), and checks that timed out may be fine. Allow more time: \
            `envdoc check --timeout 60`",
        limit.as_secs_f64()
    )
}

/// Reads this machine, or the file system below a directory. Without a `timeout` the load decides.
fn read_machine(
    catalog: &'static Catalog,
    root: Option<&Path>,
    timeout: Option<Duration>,
    expected: Expected,
    interrupts: &Interrupts,
) -> Result<(Recorder, Facts), Error> {
    let limit = load::limit(timeout, Load::now());
    let deadline = Instant::now() + limit;
    // Programs and engines time out a little earlier than gathering, so that the report names the one that
    // did not answer.
    let early = deadline - limit / 20;
    let host = match root {
        None => Live::new(early).with_engines(Arc::new(Transports::default())),
        Some(root) => Live::below(&root.to_string_lossy(), early).map_err(|error| {
            Error::new(Kind::File, format!("cannot read {}: {error}", root.display()))
                .hint("--root requires a directory")
        })?,
    };
    let recorder = Recorder::new(Arc::new(host));
    interrupts.end_programs();
    let waiting = ::cluster::waiting::Waiting::new("reading this machine");
    let facts = gather::live(&recorder, deadline, expected, catalog);
    drop(waiting);
    if Instant::now() >= deadline
        && let Some(load) = Load::now().filter(|load| load.is_busy())
    {
        terminal::note(&late(limit, load));
    }
    Ok((recorder, facts))
}
