//! Where reports go, and how much is said besides: `--output`, `--color`, `--quiet`.

use std::path::PathBuf;

use clap::ValueEnum;
use diagnostic::error::Error;
use diagnostic::{links, terminal, visible};
use host::file;

use super::headings::OUTPUT;

/// `--output` of commands that print one report.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Output {
    /// Write the report to FILE instead of standard output.
    ///
    /// An existing file is replaced when the report is ready, not before.
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    output: Option<PathBuf>,
}

impl Output {
    pub(super) fn is_given(&self) -> bool {
        self.output.is_some()
    }

    /// Runs a command whose report goes where the option says. A file that cannot be written is refused
    /// before the command begins.
    pub(super) fn of(self, run: impl FnOnce() -> Result<u8, Error>) -> Result<u8, Error> {
        let Some(path) = self.output else { return run() };
        file::writable(&path)?;
        terminal::collect();
        let result = run();
        let report = terminal::collected();
        let code = result?;
        file::write_bytes(&path, &report)?;
        terminal::note(&format!("wrote {}", visible::path(&path)));
        Ok(code)
    }
}

/// Options about the terminal, of every command.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Screen {
    /// When to colour the output.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t = Color::Auto,
        global = true,
        help_heading = OUTPUT,
        hide_short_help = true,
        hide_possible_values = true
    )]
    color: Color,

    /// Print no progress and no warnings on standard error; reports and errors remain.
    #[arg(long, global = true, help_heading = OUTPUT, hide_short_help = true)]
    quiet: bool,

    /// Base URL of envdoc's documentation; ids in reports link to it on terminals that support hyperlinks
    /// [env: ENVDOC_DOCS_URL].
    #[arg(
        long,
        value_name = "URL",
        value_parser = links::base,
        global = true,
        help_heading = OUTPUT,
        hide_short_help = true
    )]
    docs_url: Option<String>,
}

/// When the output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Also in pipes and files.
    Always,
    /// Nowhere.
    Never,
}

impl Screen {
    /// Makes the options hold for this run.
    pub(super) fn apply(&self) {
        match self.color {
            Color::Auto => {}
            Color::Always => terminal::color(true),
            Color::Never => terminal::color(false),
        }
        if self.quiet {
            terminal::be_quiet();
        }
        if let Some(base) = self.docs_url.clone().or_else(documentation) {
            links::to(base);
        }
    }
}

/// The address in the environment, else that of the release. A wrong one is no reason to refuse a command.
fn documentation() -> Option<String> {
    match host::variables::text("ENVDOC_DOCS_URL").filter(|address| !address.is_empty()) {
        Some(address) => {
            let base = links::base(&address);
            base.map_err(|why| terminal::note(&format!("warning: ENVDOC_DOCS_URL is ignored: {why}"))).ok()
        }
        None => option_env!("ENVDOC_DOCS_URL").and_then(|address| links::base(address).ok()),
    }
}
