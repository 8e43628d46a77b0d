//! `envdoc build`.

mod options;

use catalog::Catalog;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::format::Format;
use crate::cli::headings::{BUILD, CACHE, OUTPUT, STACK};
use crate::cli::image::{ImageArgs, no_stack};
use crate::cli::interrupts::Interrupts;
use crate::cli::output::Output;
use crate::cli::settings::SettingsFiles;
use ::build::{Prepared, execute, prepare};
use ::image::report::{BuildReport, Ending, Progress, events, findings, lines, text, tree};
use diagnostic::error::Error;
use diagnostic::layout::Layout;
use diagnostic::terminal;
use resolve::universe::Universe;

/// Build an image with a resolved stack, and verify its contents.
///
/// Resolves the stack, writes its Dockerfile, builds it with the Docker engine, and verifies the result.
/// With --file, builds and verifies your own Dockerfile. The image is tagged only after the build and its
/// verification succeed.
///
/// Exit code 0: built and verified; 1: the build or the verification failed; 2: envdoc could not run (for
/// example, no Docker engine); 3: with --strict, the verification could not check everything; 130:
/// interrupted, the build was canceled on the engine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Build context: directory to copy from [default: .].
    #[arg(value_name = "CONTEXT")]
    context: Option<PathBuf>,

    /// Ignore the requirements of CONTEXT.
    ///
    /// By default, requirements.txt, pyproject.toml and .python-version in CONTEXT are used, unless --request
    /// or --file is given.
    #[arg(long, conflicts_with_all = ["project", "requirements"])]
    #[arg(help_heading = STACK, hide_short_help = true)]
    no_project: bool,

    /// Build your own Dockerfile instead.
    ///
    /// It is built as it is; nothing is resolved.
    #[arg(long, short, value_name = "DOCKERFILE", help_heading = BUILD)]
    file: Option<PathBuf>,

    #[command(flatten)]
    image: ImageArgs,

    /// Name and tag: team/train:1.0.
    ///
    /// Repeatable. Default: the name of the request.
    #[arg(long, short, value_name = "NAME", help_heading = BUILD)]
    tag: Vec<String>,

    /// Push all tags, with the logins of `docker login`.
    #[arg(long, help_heading = BUILD)]
    push: bool,

    /// Platform of the image: linux/amd64.
    ///
    /// Several platforms, separated by commas, require --file and --push: each is built and pushed as
    /// NAME-linux-arm64 and so on, and NAME becomes a multi-platform image index.
    #[arg(long, value_name = "OS/ARCH", value_delimiter = ',', help_heading = BUILD, hide_short_help = true)]
    platform: Vec<String>,

    /// Build argument; without =VALUE, the value of the environment variable.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = BUILD, hide_short_help = true)]
    build_arg: Vec<String>,

    /// Secret for `RUN --mount=type=secret,id=ID` in --file; it is not stored in the image.
    ///
    /// --ca-cert is available as the secret `ca`.
    #[arg(long, value_name = "id=ID,src=FILE", help_heading = BUILD, hide_short_help = true)]
    secret: Vec<String>,

    /// Build stage to stop at.
    #[arg(long, value_name = "STAGE", help_heading = BUILD, hide_short_help = true)]
    target: Option<String>,

    /// Network of RUN instructions.
    #[arg(
        long,
        value_name = "MODE",
        value_parser = ["default", "host", "none"],
        help_heading = BUILD,
        hide_short_help = true
    )]
    network: Option<String>,

    /// Builder to use; auto is BuildKit if the engine has it, else the classic builder.
    #[arg(long, value_enum, default_value_t = Which::Auto, help_heading = BUILD, hide_short_help = true)]
    builder: Which,

    /// Docker engine: unix:///path, ssh://user@host[:port][/socket] or tcp://address:port.
    ///
    /// Default: the engine that the docker command uses.
    #[arg(long, value_name = "URL", help_heading = BUILD, hide_short_help = true)]
    host: Option<String>,

    /// Do not use the build cache.
    #[arg(long, help_heading = CACHE, hide_short_help = true)]
    no_cache: bool,

    /// Always ask the registry for newer base images.
    #[arg(long, help_heading = CACHE, hide_short_help = true)]
    pull: bool,

    /// Image to use as a cache source: NAME or type=registry,ref=NAME.
    #[arg(long, value_name = "IMAGE", help_heading = CACHE, hide_short_help = true)]
    cache_from: Vec<String>,

    /// Where to store the cache: type=inline (in the image), NAME or type=registry,ref=NAME.
    ///
    /// NAME also pushes the image under that name. An engine's own builder supports no other types.
    #[arg(long, value_name = "type=inline|NAME", help_heading = CACHE, hide_short_help = true)]
    cache_to: Vec<String>,

    /// Contents to verify: torch==2.6.0,nvcc.
    ///
    /// Also import:deepspeed, torch==2.6.0+cu124, python==3.11, cuda==12.4, nccl==2.21.5, and NAME==VERSION
    /// for any package.
    #[arg(long, value_name = "EXPECTATION", value_delimiter = ',', help_heading = BUILD)]
    #[arg(hide_short_help = true)]
    expect: Vec<String>,

    /// Do not verify the contents of the image.
    #[arg(long, alias = "no-prove", help_heading = BUILD, hide_short_help = true)]
    no_verify: bool,

    /// Exit with 3, and do not tag the image, if an expectation could not be checked.
    #[arg(long, conflicts_with = "no_verify", help_heading = BUILD, hide_short_help = true)]
    strict: bool,

    /// Print what would be sent to the engine, and exit.
    #[arg(long, help_heading = OUTPUT)]
    dry_run: bool,

    /// Report format.
    ///
    /// json is one object per event and line, the last of which is the report.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT, hide_short_help = true)]
    format: Format,

    /// How to show progress on standard error.
    #[arg(long, value_enum, default_value_t = Shown::Auto, help_heading = OUTPUT, hide_short_help = true)]
    progress: Shown,

    /// Show every step, layer and expectation in the report.
    #[arg(long, short, help_heading = OUTPUT, hide_short_help = true)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc build --cuda 12.4 --torch 2.6 --deepspeed -t train:1 --copy src:/src
  envdoc build --gpu h100 -t train:1 .    # pins of requirements.txt
  envdoc build --request request.yaml --push -t ghcr.io/team/train:1.0
  envdoc build --file Dockerfile --expect torch==2.6.0 -t train:1 .";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// BuildKit if the engine has it, else the classic builder.
    Auto,
    /// BuildKit; fail if the engine lacks it.
    Buildkit,
    /// The classic builder.
    Classic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// A tree on a terminal, else plain lines.
    Auto,
    /// A tree that is redrawn in place.
    Tree,
    /// One line per event.
    Plain,
}

impl Args {
    pub(in crate::cli) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        files: &SettingsFiles,
    ) -> Result<u8, Error> {
        let request = self.request(&files.read()?)?;
        if let Some(note) = self.not_read() {
            terminal::note(note);
        }
        let read_here = || self.image.stack.read_here(catalog, interrupts);
        let plan = match prepare(&Universe::new(catalog), &request, &read_here)? {
            Prepared::Build(plan) => plan,
            Prepared::NoStack(none) => return no_stack(&none),
        };
        if self.dry_run {
            return terminal::print(&plan.text()).map(|()| 0);
        }
        interrupts.leave_to_command();
        let mut reports = Vec::new();
        let finished = execute::run(catalog, &plan, &|| self.progress(), &mut |report| {
            self.print(&report)?;
            reports.push(report);
            Ok(())
        });
        self.print_findings(&reports)?;
        finished?;
        Ok(match reports.last().map(BuildReport::ending) {
            Some(Ending::Failed) => 1,
            Some(Ending::NotVerified) => 3,
            Some(Ending::Built) | None => 0,
        })
    }

    fn progress(&self) -> Progress {
        let tree = match self.progress {
            Shown::Tree => true,
            Shown::Plain => false,
            Shown::Auto => terminal::redraws(),
        };
        match (self.format, tree) {
            (Format::Json, _) => Progress::Events,
            (_, true) => Progress::Tree(tree::Tree::new(terminal::unicode())),
            (_, false) => Progress::Lines(lines::Lines::default()),
        }
    }

    /// Prints the report of one platform, in the formats that print each as it comes.
    fn print(&self, report: &BuildReport) -> Result<(), Error> {
        match self.format {
            Format::Json => events::report(report),
            Format::Text => terminal::print(&text::report(report, Layout::of_screen(self.verbose))),
            _ => Ok(()),
        }
    }

    /// Prints the findings of all platforms, in the formats that are one document.
    fn print_findings(&self, reports: &[BuildReport]) -> Result<(), Error> {
        if matches!(self.format, Format::Text | Format::Json) || reports.is_empty() {
            return Ok(());
        }
        let document = self.format.write(|| findings(reports), String::new, || Ok(String::new()))?;
        terminal::print(&document)
    }
}
