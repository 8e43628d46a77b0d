//! The findings for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{Counts, plural};
use crate::lint::{Finding, Severity};
use crate::report::screen::colour;
use crate::report::text::Layout;

/// Every finding with its place, and how many there are.
pub fn report(findings: &[Finding], files: usize, layout: Layout) -> String {
    let mut text = String::new();
    let mut file = None;
    for finding in findings {
        if file != Some(&finding.file) {
            let bold = Style::new().bold();
            let _ =
                writeln!(text, "{}{bold}{}{bold:#}", if file.is_some() { "\n" } else { "" }, finding.file);
            file = Some(&finding.file);
        }
        one(&mut text, finding, layout);
    }
    if !findings.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(findings, files, layout));
    text
}

fn one(text: &mut String, finding: &Finding, layout: Layout) {
    let found = &finding.found;
    let (style, sign) = mark(found.severity, layout.unicode);
    let start = format!("{style}{sign} {}{style:#}", found.severity.word());
    let _ = writeln!(text, "  {start} line {}: {}", found.line, finding.rule.id);
    wrapped(text, &found.says, layout);
    if !found.fix.is_empty() {
        wrapped(text, &format!("fix: {}", found.fix), layout);
    }
}

fn wrapped(text: &mut String, line: &str, layout: Layout) {
    // What is copied is never broken: image names, options.
    let options = textwrap::Options::new(layout.width)
        .initial_indent("      ")
        .subsequent_indent("      ")
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let line = if layout.unicode { line.to_owned() } else { line.replace('…', "...") };
    let _ = writeln!(text, "{}", textwrap::fill(&line, options));
}

fn mark(severity: Severity, unicode: bool) -> (Style, &'static str) {
    match severity {
        Severity::Error => (colour(AnsiColor::Red).bold(), if unicode { "✗" } else { "x" }),
        Severity::Warning => (colour(AnsiColor::Yellow).bold(), "!"),
        Severity::Note => (colour(AnsiColor::Cyan), "-"),
    }
}

fn summary(findings: &[Finding], files: usize, layout: Layout) -> String {
    let files = plural(files, "file");
    if findings.is_empty() {
        let sign = if layout.unicode { "✓" } else { "+" };
        let style = colour(AnsiColor::Green);
        return format!("{style}{sign}{style:#} nothing found in {files}");
    }
    format!("{} in {files}; more on each: envdoc explain RULE", Counts::of(findings).words())
}
