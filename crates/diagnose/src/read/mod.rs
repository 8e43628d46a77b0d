//! Reading logs: from files, folders and streams to the lines that mean something, in memory that does not
//! grow with the input.
//!
//! Bytes are unpacked ([`source`], [`compression`], [`utf16`], [`formats`]), freed of colours ([`clean`]) and
//! searched in blocks ([`blocks`]); what is kept of them is bounded ([`retention`], [`line_cache`]).

pub mod blocks;
pub mod clean;
pub mod compression;
pub mod container;
mod error;
pub mod folder;
pub mod follow;
pub mod formats;
pub mod kernel;
pub mod line_cache;
pub mod lines;
pub mod pickle;
pub mod ready;
pub mod recorder;
pub mod retention;
pub mod source;
mod stream;
pub mod utf16;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use folder::sources;
pub use recorder::Recorded;

use super::scan::Hit;
use catalog::Catalog;
use diagnostic::error::Error;

/// Where a log comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, plain or packed.
    File(PathBuf),
    /// Standard input.
    Standard,
    /// What is there already.
    Bytes {
        /// What it is called in the report.
        name: String,
        /// The log.
        bytes: Vec<u8>,
    },
    /// What was to be read and cannot be: it appears in the report as a finding.
    Unreadable {
        /// The file or folder.
        name: String,
        /// Why, in the words of the system.
        why: String,
    },
    /// What is not read, and why: it appears in the report as a remark.
    LeftOut {
        /// The file or folder.
        name: String,
        /// Why, a sentence each.
        why: Vec<String>,
    },
}

/// A line that a signature matches or that looks like an error, and what stands around it where that matters.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Line number from 1, as an editor counts: carriage returns of progress bars end no line.
    pub number: u64,
    /// The text between two ends of line or carriage returns, without ANSI codes, invalid UTF-8 replaced; of
    /// a text over 4 KiB so much around the first match.
    pub text: String,
    /// What [`Scanner::scan`](super::scan::Scanner::scan) says of the text; empty for a line that only looks
    /// like an error.
    pub hits: Vec<Hit>,
    /// Whether it only looks like an error: it has a word of the list in [`crate::error_like`], and no
    /// signature matches it.
    pub error_like: bool,
    /// Up to 4 lines before it, each cut after 1 KiB: as many as were held when it was found, and none where
    /// much had been found before.
    pub before: Vec<String>,
    /// Up to 4 lines after it, likewise.
    pub next: Vec<String>,
    /// Up to 60 lines that follow, where this one starts a block: a traceback, elastic's table of errors.
    pub after: Vec<String>,
}

/// What was read of one source. Of each signature with the same captures the first 32 and the last 4 lines
/// are kept, the rest counted.
#[derive(Debug, Clone, Default)]
pub struct Read {
    pub name: String,
    /// How many lines it has; of a flight recorder dump how many groups.
    pub lines: u64,
    /// How many bytes it has, unpacked.
    pub bytes: u64,
    /// What was found, ascending by number.
    pub found: Vec<Found>,
    /// Of a dump of PyTorch's flight recorder: where its rank is in each process group. Such a file has no
    /// lines.
    pub recorded: Vec<Recorded>,
    /// The first 40 lines, each cut after 1 KiB; of a line with carriage returns what a terminal shows last.
    pub head: Vec<String>,
    /// The last 40 lines, likewise.
    pub tail: Vec<String>,
    /// Lines with hits that were counted and not kept.
    pub omitted: u64,
    /// What is odd about the source: "gzip ends early at byte …", "12 NUL bytes", "binary".
    pub remarks: Vec<String>,
    /// Whether it is no text: only the text in it was searched.
    pub binary: bool,
    /// It was asked for and could not be read: why.
    pub unread: Option<String>,
}

impl Read {
    /// A log that could not be read.
    pub fn missing(name: String, why: &str) -> Read {
        Read { name, unread: Some(why.to_owned()), ..Read::default() }
    }
}

/// Reads a source to its end.
pub fn read(catalog: &'static Catalog, source: &Source) -> Result<Read, Error> {
    source::read(catalog, source)
}

/// Reads several sources, each to its end: one that cannot be opened is [`Read::unread`]. An error where it
/// is the only one, or does not exist.
pub fn read_all(catalog: &'static Catalog, sources: &[Source]) -> Result<Vec<Read>, Error> {
    sources.iter().map(|source| source::read_among(catalog, source, sources.len() > 1)).collect()
}

/// What is found in a text.
pub fn text(catalog: &'static Catalog, name: &str, text: &str) -> Read {
    let mut blocks = blocks::Blocks::new(catalog, name, blocks::LIMITS);
    blocks.feed(text.as_bytes());
    blocks.end()
}
