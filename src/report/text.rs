//! The report for people: one line a healthy group, and for each problem what is, what should be, why, and what to type.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::screen::{self, colour};
use super::{Summary, json, of_group, reason};
use crate::checks::{CheckResult, FixClass, Group, Severity, Verdict};

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
        Layout { width: screen::width(), unicode: screen::unicode(), verbose, root: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    NotApplicable,
    Pass,
    Unknown,
    Warning,
    Error,
}

impl Mark {
    pub(super) fn of(verdict: &Verdict) -> Mark {
        match verdict {
            Verdict::Pass => Mark::Pass,
            Verdict::NotApplicable(_) => Mark::NotApplicable,
            Verdict::Unknown(_) => Mark::Unknown,
            Verdict::Finding { severity: Severity::Warning, .. } => Mark::Warning,
            Verdict::Finding { severity: Severity::Error, .. } => Mark::Error,
        }
    }

    pub(super) fn sign(self, unicode: bool) -> &'static str {
        match (self, unicode) {
            (Mark::Pass, true) => "✓",
            (Mark::Pass, false) => "+",
            (Mark::Error, true) => "✗",
            (Mark::Error, false) => "x",
            (Mark::Warning, _) => "!",
            (Mark::Unknown, _) => "?",
            (Mark::NotApplicable, _) => "-",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Mark::Pass => colour(AnsiColor::Green),
            Mark::Error => colour(AnsiColor::Red).bold(),
            Mark::Warning => colour(AnsiColor::Yellow).bold(),
            Mark::Unknown => colour(AnsiColor::Magenta).bold(),
            Mark::NotApplicable => Style::new().dimmed(),
        }
    }
}

/// The whole report, with ANSI colours in it.
pub fn report(machine: &[String], results: &[CheckResult], layout: Layout) -> String {
    let mut text = String::new();
    for line in machine {
        let line = if layout.unicode { line.clone() } else { line.replace('·', "|").replace('×', "x") };
        wrapped(&mut text, &line, "", "  ", layout);
    }
    if !machine.is_empty() {
        text.push('\n');
    }
    let mut quiet = Vec::new();
    for &group in Group::ALL {
        let results = of_group(results, group);
        match results.iter().map(|result| Mark::of(&result.verdict)).max() {
            None => {}
            Some(Mark::NotApplicable) if !layout.verbose => quiet.push((group, results)),
            Some(mark) => group_lines(&mut text, group, mark, &results, layout),
        }
    }
    if !quiet.is_empty() {
        not_applicable(&mut text, &quiet, layout);
    }
    text.push('\n');
    summary(&mut text, results, layout);
    text
}

fn group_lines(text: &mut String, group: Group, mark: Mark, results: &[&CheckResult], layout: Layout) {
    let summary = Summary::of(results.iter().copied());
    let words = if mark == Mark::NotApplicable { "not applicable".to_owned() } else { summary.words() };
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let start = format!("{style}{sign}{style:#} {:<18} ", group.title());
    wrapped(text, &words, &start, "      ", layout);
    for result in results {
        if let Verdict::Finding { .. } = result.verdict {
            finding(text, result.check.id, &result.verdict, layout);
        }
    }
    unknowns(text, results, layout);
    if layout.verbose {
        passed(text, results, layout);
        let idle = results.iter().filter_map(|result| match &result.verdict {
            Verdict::NotApplicable(why) => Some((result.check.id, why.as_str())),
            _ => None,
        });
        let (style, sign) = (Mark::NotApplicable.style(), Mark::NotApplicable.sign(layout.unicode));
        for (why, ids) in by_reason(idle) {
            let start = format!("    {style}{sign}{style:#} ");
            wrapped(text, &format!("not applicable, {why}: {}", ids.join(", ")), &start, "      ", layout);
        }
    }
}

fn passed(text: &mut String, results: &[&CheckResult], layout: Layout) {
    let (style, sign) = (Mark::Pass.style(), Mark::Pass.sign(layout.unicode));
    for result in results.iter().filter(|result| result.verdict == Verdict::Pass) {
        let line = format!("{}: {}", result.check.id, result.check.summary);
        wrapped(text, &line, &format!("    {style}{sign}{style:#} "), "      ", layout);
    }
}

/// Ids of results with one reason together, in the order in which reasons come.
fn by_reason<'r>(
    results: impl Iterator<Item = (&'static str, &'r str)>,
) -> Vec<(&'r str, Vec<&'static str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (id, why) in results {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((why, vec![id])),
        }
    }
    reasons
}

/// A finding with what to do; nothing for any other verdict.
pub(super) fn finding(text: &mut String, id: &str, verdict: &Verdict, layout: Layout) {
    let Verdict::Finding { says, evidence, fix, severity } = verdict else { return };
    let mark = Mark::of(verdict);
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let word = if *severity == Severity::Error { "error" } else { "warning" };
    let _ = writeln!(text, "    {style}{sign} {word}: {id}{style:#}");
    wrapped(text, says, "      ", "      ", layout);
    if layout.verbose {
        for line in evidence {
            wrapped(text, line, "      | ", "      | ", layout);
        }
    }
    let class = match fix.class {
        FixClass::Safe => String::new(),
        class => format!(" ({})", consequence(class)),
    };
    if !fix.text.is_empty() || !class.is_empty() {
        wrapped(text, &format!("fix{class}: {}", fix.text), "      ", "      ", layout);
    }
    // Commands are never wrapped: they are to be copied.
    let bold = Style::new().bold();
    for command in fix.commands.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(text, "        {bold}{command}{bold:#}");
    }
}

fn consequence(class: FixClass) -> &'static str {
    match class {
        FixClass::Safe => json::class(class),
        FixClass::Disruptive => "disturbs what runs",
        FixClass::Reboot => "needs a reboot",
    }
}

/// Checks that could not look, those with one reason together.
fn unknowns(text: &mut String, results: &[&CheckResult], layout: Layout) {
    let unknown = results.iter().filter_map(|result| match &result.verdict {
        Verdict::Unknown(why) => Some((result.check.id, why.as_str())),
        _ => None,
    });
    let style = Mark::Unknown.style();
    for (why, ids) in by_reason(unknown) {
        let start = format!("    {style}?{style:#} ");
        wrapped(text, &format!("could not look: {}", reason(why, layout.root)), &start, "      ", layout);
        let names = match ids.as_slice() {
            [first, second, rest @ ..] if rest.len() > 2 && !layout.verbose => {
                format!("{first}, {second} and {} more", rest.len())
            }
            all => all.join(", "),
        };
        wrapped(text, &names, "      ", "      ", layout);
    }
}

fn not_applicable(text: &mut String, quiet: &[(Group, Vec<&CheckResult>)], layout: Layout) {
    let titles: Vec<&str> = quiet.iter().map(|(group, _)| group.title()).collect();
    let mut reasons = quiet.iter().flat_map(|(_, results)| results).map(|result| &result.verdict);
    let first = reasons.clone().next();
    let why = match first {
        Some(Verdict::NotApplicable(why)) if reasons.all(|verdict| Some(verdict) == first) => {
            format!(" ({why})")
        }
        _ => String::new(),
    };
    let (style, sign) = (Mark::NotApplicable.style(), Mark::NotApplicable.sign(layout.unicode));
    let line = format!("not applicable: {}{why}", titles.join(", "));
    wrapped(text, &line, &format!("{style}{sign}{style:#} "), "  ", layout);
}

fn summary(text: &mut String, results: &[CheckResult], layout: Layout) {
    let summary = Summary::of(results);
    let mark = results.iter().map(|result| Mark::of(&result.verdict)).max().unwrap_or(Mark::NotApplicable);
    let style = mark.style();
    let word = match mark {
        Mark::Error => "problems found",
        Mark::Warning => "works, with warnings",
        Mark::Unknown => "nothing wrong was seen, but not everything could be seen",
        Mark::Pass => "healthy",
        Mark::NotApplicable => "nothing to check here",
    };
    let idle = match summary.not_applicable {
        0 => String::new(),
        count => format!("{count} not applicable"),
    };
    let counts = [summary.words(), idle];
    let counts: Vec<&str> = counts.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
    wrapped(text, &counts.join(", "), &format!("{style}{word}{style:#}: "), "  ", layout);
    if !layout.verbose && matches!(mark, Mark::Error | Mark::Warning) {
        wrapped(text, "more on each: envdoc explain ID, or --verbose", "", "  ", layout);
    }
}

/// Wraps text behind a start that may hold colours, which count for no columns.
pub(super) fn wrapped(text: &mut String, line: &str, start: &str, indent: &str, layout: Layout) {
    let plain = anstream::adapter::strip_str(start).to_string();
    let blank = " ".repeat(plain.chars().count());
    let options = textwrap::Options::new(layout.width)
        .initial_indent(&blank)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let filled = textwrap::fill(line, options);
    let _ = writeln!(text, "{start}{}", filled.get(blank.len()..).unwrap_or_default());
}
