//! `envdoc checks`.

use super::output::Output;
use clap::ValueEnum;

use crate::cli::explain::text as explain;
use diagnostic::error::Error;
use diagnostic::render::json;
use diagnostic::terminal;

/// List all checks.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc checks                    # ids and one line each
  envdoc checks --format json      # with the full explanations";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// JSON with the full explanations.
    Json,
}

impl Args {
    /// Prints the list.
    pub(super) fn run(self) -> Result<u8, Error> {
        let text = match self.format {
            Format::Text => explain::list(terminal::width()),
            Format::Json => json::text(&explain::data())?,
        };
        terminal::print(&text).map(|()| 0)
    }
}
