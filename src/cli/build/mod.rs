//! `envdoc build`.

mod base;
mod cache;
mod options;
mod platforms;
mod source;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::image::ImageArgs;
use crate::cli::running::runtime;
use ::image::report::{BuildReport, Progress, events, lines, text, tree};
use ::image::verify::Status;
use diagnostic::error::Error;
use diagnostic::layout::Layout;
use diagnostic::terminal;
use docker::client;
use docker::docker::Engine;

/// Resolve a stack, write its Dockerfile, build the image through the container engine, and prove it from inside.
///
/// With --file somebody's own Dockerfile is built the same way. The image gets its names only when it is built whole and holds what was promised. Exit code 0: built, and nothing that was
/// promised is missing; 1: the build failed, or the image is not as promised; 2: envdoc could not do its work (no engine); 130:
/// interrupted, and the build was ended on the engine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The build context: the folder that the image copies from.
    #[arg(value_name = "CONTEXT")]
    context: Option<PathBuf>,

    /// Build this Dockerfile as it stands, and resolve nothing.
    #[arg(long, short, value_name = "DOCKERFILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    image: ImageArgs,

    /// Name the image, several times if wanted: team/train:1.0. Without it a request's image is named after the request.
    #[arg(long, short, value_name = "NAME")]
    tag: Vec<String>,

    /// Push the names to their registries; logins are those of `docker login`.
    #[arg(long)]
    push: bool,

    /// Do not look whether the image holds what was promised.
    #[arg(long)]
    no_prove: bool,

    /// Promise something of the image, to be proved: python==3.11, torch==2.6.0+cu124, cuda==12.4, nccl==2.21.5, numpy==1.26.4, nvcc, import:deepspeed.
    #[arg(long, value_name = "PROMISE", value_delimiter = ',')]
    expect: Vec<String>,

    /// Exit with 3, and give no names, when something that was promised could not be asked.
    #[arg(long, conflicts_with = "no_prove")]
    strict: bool,

    /// Platform of the image: linux/amd64. Several with commas, for --file and --push: one build for each, pushed as NAME-linux-arm64
    /// and so on, and NAME as a list of them.
    #[arg(long, value_name = "OS/ARCH", value_delimiter = ',')]
    platform: Vec<String>,

    /// The stage to build.
    #[arg(long, value_name = "STAGE")]
    target: Option<String>,

    /// The network of RUN instructions: host, none, default.
    #[arg(long, value_name = "MODE", value_parser = ["default", "host", "none"])]
    network: Option<String>,

    /// A value for ARG; without `=VALUE` that of the environment.
    #[arg(long, value_name = "NAME[=VALUE]")]
    build_arg: Vec<String>,

    /// A secret for `RUN --mount=type=secret,id=ID` of --file; it is in no layer. Those of --ca-cert are the secret `ca`.
    #[arg(long, value_name = "id=ID,src=FILE")]
    secret: Vec<String>,

    /// Take nothing from the cache.
    #[arg(long)]
    no_cache: bool,

    /// Ask registries for newer base images.
    #[arg(long)]
    pull: bool,

    /// An image whose layers may be used: NAME or type=registry,ref=NAME.
    #[arg(long, value_name = "IMAGE")]
    cache_from: Vec<String>,

    /// Where the cache goes: type=inline writes it into the image, so that --cache-from can use it after a push; NAME or
    /// type=registry,ref=NAME also pushes the image under that name. Other kinds are beyond an engine's own builder.
    #[arg(long, value_name = "type=inline|NAME")]
    cache_to: Vec<String>,

    /// Which builder; auto is BuildKit where the engine has it, and says so where not.
    #[arg(long, value_enum, default_value_t = Which::Auto)]
    builder: Which,

    /// The engine: unix:///path, ssh://user@host[:port][/socket] or tcp://address:port; without it the one that the docker program would use.
    #[arg(long, value_name = "URL")]
    host: Option<String>,

    /// Say what would be sent to the engine, and stop.
    #[arg(long)]
    dry_run: bool,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// How progress is shown on standard error.
    #[arg(long, value_enum, default_value_t = Shown::Auto)]
    progress: Shown,

    /// Show every step, layer and promise in the report.
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// BuildKit, else what the engine has.
    Auto,
    /// BuildKit or nothing.
    Buildkit,
    /// The classic builder.
    Classic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object a line for each event; the last one is the report, schema in docs/schemas/build.json.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// A tree on a terminal, else lines.
    Auto,
    /// What runs is redrawn.
    Tree,
    /// Lines that stay.
    Plain,
}

impl Args {
    /// Builds, proves, names, pushes, reports.
    pub fn run(self) -> Result<u8, Error> {
        let client = client::find(self.host.as_deref())?;
        let Some(order) = self.order(&client)? else { return Ok(1) };
        if self.dry_run {
            return terminal::print(&order.shown()).map(|()| 0);
        }
        // Looking at this machine (--here) has a thread that ends envdoc at once; a build is ended in order.
        crate::cli::LOOKING_INSIDE.store(true, std::sync::atomic::Ordering::SeqCst);
        let runtime = runtime()?;
        let engine = runtime.block_on(Engine::connect(&client.endpoint))?;
        let mut reports = Vec::new();
        for one in platforms::each(&order) {
            let mut progress = self.progress();
            let logins = Arc::new(client.logins.clone());
            let work = work::carry_out_until_interrupted(&engine, logins, &one, &mut progress);
            let mut report = runtime.block_on(work)?;
            report.notes.extend(client.notes.iter().chain(&order.notes).cloned());
            report.stack.clone_from(&order.stack);
            drop(progress);
            let code = self.exit_code(&report);
            let last = reports.len() + 1 >= order.platforms.len();
            if !last || code != 0 {
                self.print(&report)?;
            }
            if code != 0 {
                return Ok(code);
            }
            reports.push(report);
        }
        // A context that is still being read, or a credential helper, must not hold envdoc.
        runtime.shutdown_background();
        let lists = match order.platforms.is_empty() {
            true => Ok(Vec::new()),
            false => platforms::join(&order, &reports, &client),
        };
        let Some(mut report) = reports.pop() else { return Ok(0) };
        let error = match lists {
            Ok(lists) => {
                report.pushed.extend(lists);
                None
            }
            Err(error) => Some(error),
        };
        self.print(&report)?;
        error.map_or(Ok(0), Err)
    }

    fn progress(&self) -> Progress {
        let tree = match self.progress {
            Shown::Tree => true,
            Shown::Plain => false,
            Shown::Auto => terminal::redraws(),
        };
        match (self.format, tree) {
            (Format::Json, _) => Progress::Events,
            (Format::Text, true) => Progress::Tree(tree::Tree::new(terminal::unicode())),
            (Format::Text, false) => Progress::Lines(lines::Lines::default()),
        }
    }

    fn print(&self, report: &BuildReport) -> Result<(), Error> {
        if self.format == Format::Json {
            return events::report(report);
        }
        let layout = Layout::of_screen(self.verbose);
        terminal::print(&text::report(report, layout))
    }

    fn exit_code(&self, report: &BuildReport) -> u8 {
        let unknown = report.proof.as_ref().is_some_and(|proof| proof.status == Status::Unknown);
        match &report.failure {
            Some(failure) if failure.phase == "engine" => 2,
            Some(failure) if failure.phase == "proof" && unknown => 3,
            Some(_) => 1,
            None => 0,
        }
    }
}
