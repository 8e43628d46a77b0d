//! `envdoc checks`.

use clap::ValueEnum;

use crate::cli::explain::text as explain;
use diagnostic::error::Error;
use diagnostic::render::json;
use diagnostic::terminal;

/// List every check.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How the list is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines, with the whole explanations.
    Json,
}

impl Args {
    /// Prints the list.
    pub fn run(self) -> Result<u8, Error> {
        let text = match self.format {
            Format::Text => explain::list(terminal::width()),
            Format::Json => json::text(&explain::data())?,
        };
        terminal::print(&text).map(|()| 0)
    }
}
