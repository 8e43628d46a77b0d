//! How text reports are laid out: width, marks, wrapped lines.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::Severity;
use crate::terminal::{self, colour};
use crate::visible;

/// How the report is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Columns to wrap to.
    pub width: usize,
    /// Whether more than ASCII may be used.
    pub unicode: bool,
    /// Evidence, passed and not applicable checks too.
    pub verbose: bool,
    /// Whether envdoc runs as root: then "run with sudo" would be no help.
    pub root: bool,
}

impl Layout {
    /// As this screen is, for whom rights do not matter.
    pub fn of_screen(verbose: bool) -> Layout {
        Layout { width: terminal::width(), unicode: terminal::unicode(), verbose, root: false }
    }
}

/// What stands before a line: how it is. Ordered from harmless to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Means nothing here.
    NotApplicable,
    /// Looked, and all is well.
    Pass,
    /// Worth knowing.
    Note,
    /// Could not look.
    Unknown,
    /// Works, but should be changed.
    Warning,
    /// Fails.
    Error,
}

impl Mark {
    /// One character: `✓`, or `+` where only ASCII may be used.
    pub fn sign(self, unicode: bool) -> &'static str {
        match (self, unicode) {
            (Mark::Pass, true) => "✓",
            (Mark::Pass, false) => "+",
            (Mark::Error, true) => "✗",
            (Mark::Error, false) => "x",
            (Mark::Warning, _) => "!",
            (Mark::Unknown, _) => "?",
            (Mark::NotApplicable | Mark::Note, _) => "-",
        }
    }

    /// Its colour.
    pub fn style(self) -> Style {
        match self {
            Mark::Pass => colour(AnsiColor::Green),
            Mark::Error => colour(AnsiColor::Red).bold(),
            Mark::Warning => colour(AnsiColor::Yellow).bold(),
            Mark::Unknown => colour(AnsiColor::Magenta).bold(),
            Mark::Note => colour(AnsiColor::Cyan),
            Mark::NotApplicable => Style::new().dimmed(),
        }
    }
}

impl From<Severity> for Mark {
    fn from(severity: Severity) -> Mark {
        match severity {
            Severity::Note => Mark::Note,
            Severity::Warning => Mark::Warning,
            Severity::Error => Mark::Error,
        }
    }
}

/// Wraps text at spaces alone, every line indented: image names, options and addresses in it can be copied.
pub fn wrapped_whole(text: &mut String, line: &str, indent: &str, layout: Layout) {
    let options = textwrap::Options::new(layout.width)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let line = visible::line(line);
    let line = if layout.unicode { line.into_owned() } else { line.replace('…', "...") };
    let _ = writeln!(text, "{}", textwrap::fill(&line, options));
}

/// Wraps text behind a start that may hold colours, which count for no columns.
pub fn wrapped(text: &mut String, line: &str, start: &str, indent: &str, layout: Layout) {
    let plain = anstream::adapter::strip_str(start).to_string();
    let blank = " ".repeat(plain.chars().count());
    let options = textwrap::Options::new(layout.width)
        .initial_indent(&blank)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let filled = textwrap::fill(&visible::line(line), options);
    let _ = writeln!(text, "{start}{}", filled.get(blank.len()..).unwrap_or_default());
}

/// A line wrapped, what does not fit on the first one indented.
pub fn hanging(line: &str, indent: usize, width: usize) -> String {
    let indent = " ".repeat(indent);
    // Commands and addresses are copied whole.
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let mut text = textwrap::fill(&visible::line(line), options);
    text.push('\n');
    text
}
