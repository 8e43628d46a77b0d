//! `envdoc checks`.

use clap::ValueEnum;

use crate::error::Error;
use crate::report::{explain, json, screen};

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
            Format::Text => explain::list(screen::width()),
            Format::Json => json::text(&explain::data())?,
        };
        screen::print(&text).map(|()| 0)
    }
}
