//! `--format` of every command that reports findings.

use clap::ValueEnum;

use super::run;
use diagnostic::error::Error;
use diagnostic::render::{github, html, json, junit, markdown, sarif};
use diagnostic::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Plain text.
    Text,
    /// JSON with stable keys; schema in docs/schemas.
    Json,
    /// JUnit XML for CI systems.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// GitHub Actions annotations.
    Github,
    /// Markdown for an issue or a wiki.
    Markdown,
    /// One self-contained HTML page.
    Html,
}

impl Format {
    /// The report in this format. Text and JSON are the command's own.
    pub(super) fn write(
        self,
        report: impl FnOnce() -> Report,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Result<String, Error>,
    ) -> Result<String, Error> {
        match self {
            Format::Text => Ok(text()),
            Format::Json => json(),
            Format::Junit => junit::report(&report()),
            Format::Sarif => json::text(&sarif::report(&report())),
            Format::Github => Ok(github::report(&report())),
            Format::Markdown => Ok(markdown::report(&report())),
            Format::Html => Ok(html::report(&report(), &run::now())),
        }
    }
}
