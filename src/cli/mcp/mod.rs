//! `envdoc mcp`.

mod check;
mod diagnose;
mod explain;
mod inspect;
mod lint;
mod machine;
mod path;
mod resolve;
mod snapshot;
mod topics;

use std::sync::Arc;

use ::config::Settings;
use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use host::redact::LogRedactor;
use mcp::Server;

use super::interrupts::Interrupts;
use super::settings::SettingsFiles;

/// Serve agents (Model Context Protocol) on standard input and output.
///
/// Tools: check, explain, resolve, lint, inspect, diagnose, snapshot. They only read: nothing is written,
/// built, started or changed. The network is used only where an argument asks for it. Answers are the JSON
/// documents of the commands, limited in size, with names of people, machines and networks replaced. Checks,
/// rules and signatures are resources.
///
/// A client starts it; docs/mcp.md has the configuration of common ones. It ends with exit code 0 when its
/// input ends, and with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

const EXAMPLES: &str = "\
Examples:
  envdoc mcp                                # what a client runs
  envdoc mcp --config ci/envdoc.toml        # with other settings";

/// What a model reads before it calls a tool.
const INSTRUCTIONS: &str = "\
envdoc examines GPU servers, container images and the logs of training jobs. All tools only read. Begin with \
`diagnose` for a failed job, `check` for a machine, `resolve` for versions that work together, `lint` for \
Dockerfiles and settings, `inspect` for an image; `explain` takes any id, error line or version that they \
name. A status of `unknown` means that something could not be checked: never report it as healthy. Answers \
are limited by `max_bytes`; `cut` states what is left out.";

/// What every tool needs.
#[derive(Clone)]
struct Program {
    catalog: &'static Catalog,
    interrupts: Interrupts,
    settings: Arc<SettingsFiles>,
}

impl Program {
    /// The settings of the directory in which the client started envdoc. An error about a settings file names
    /// it by its whole path, in which `redact` replaces names of people.
    fn settings(&self, redact: bool) -> Result<Settings, Error> {
        self.settings.read().map_err(|mut error| {
            if redact {
                let redactor = &mut LogRedactor::new(&[]);
                error.message = redactor.text(&error.message);
                error.hints.iter_mut().for_each(|hint| *hint = redactor.text(hint));
            }
            error
        })
    }
}

/// How the texts of answers are laid out, whatever the screen.
const LAYOUT: Layout =
    Layout { width: diagnostic::terminal::WIDTH_MAX, unicode: true, verbose: false, root: false };

impl Args {
    /// Serves one client.
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        settings: SettingsFiles,
    ) -> Result<u8, Error> {
        let program = Program { catalog, interrupts: interrupts.clone(), settings: Arc::new(settings) };
        // Ctrl-C ends the session, not the process in the middle of an answer.
        interrupts.leave_to_command();
        let (input, output) = host::standard_pipes::take().map_err(|error| {
            Error::new(Kind::File, format!("cannot use standard input and output as a connection: {error}"))
        })?;
        docker::block_on(mcp::serve(server(&program), input, output, docker::interrupted()))??;
        Ok(0)
    }
}

fn server(program: &Program) -> Server {
    Server {
        name: "envdoc",
        version: env!("CARGO_PKG_VERSION"),
        instructions: INSTRUCTIONS.to_owned(),
        tools: vec![
            check::tool(program.clone()),
            explain::tool(program.clone()),
            resolve::tool(program.clone()),
            lint::tool(program.clone()),
            inspect::tool(program.clone()),
            diagnose::tool(program.clone()),
            snapshot::tool(program.clone()),
        ],
        topics: topics::all(program.catalog),
    }
}
