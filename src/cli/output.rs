//! Where reports go, and how much is said besides: `--output`, `--color`, `--quiet`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use diagnostic::error::Error;
use diagnostic::{links, terminal, visible};

use super::headings::OUTPUT;

/// `--output` of commands that print one report.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Output {
    /// Write the report to FILE instead of standard output (-).
    ///
    /// An existing file is replaced when the report is ready, not before.
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    output: Option<PathBuf>,
}

/// The file that an option `--output` names; `None` for standard output, which is `-` or no option at all.
pub(super) fn file(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| path.as_os_str() != "-")
}

impl Output {
    /// Whether it names a file.
    pub(super) fn is_given(&self) -> bool {
        file(self.output.as_deref()).is_some()
    }

    /// Runs a command whose report goes where the option says. A file that cannot be written is refused
    /// before the command begins.
    pub(super) fn of(self, run: impl FnOnce() -> Result<u8, Error>) -> Result<u8, Error> {
        let Some(path) = file(self.output.as_deref()) else { return run() };
        host::file::writable(path)?;
        terminal::collect();
        let result = run();
        let report = terminal::collected();
        let code = result?;
        host::file::write_bytes(path, &report)?;
        terminal::note(&format!("wrote {}", visible::path(path)));
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
    /// On a terminal or with FORCE_COLOR=1; NO_COLOR or FORCE_COLOR=0 turns colors off.
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
            Color::Auto => {
                let variable = |name| host::variables::text(name).filter(|value| !value.is_empty());
                if let Some(forced) =
                    forced(variable("NO_COLOR").as_deref(), variable("FORCE_COLOR").as_deref())
                {
                    terminal::color(forced);
                }
            }
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

/// Whether FORCE_COLOR switches colours on or, as `0` or `false`, off; `None` where it decides nothing.
/// anstream reads the other variables.
fn forced(no_color: Option<&str>, force_color: Option<&str>) -> Option<bool> {
    match (no_color, force_color) {
        (Some(_), _) | (None, None) => None,
        (None, Some(value)) => Some(!matches!(value, "0" | "false")),
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
