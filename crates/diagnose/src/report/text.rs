//! The diagnosis for people: the cause first, what it rests on, what to do; then what else was found.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{command_to_confirm, nothing, noticed, seconds, sentences, title};
use crate::root_cause::{Cause, Confidence, Diagnosis, Evidence, Moment, Whose};
use catalog::signatures::{Cause as Choice, Role};
use diagnostic::layout::{Layout, Mark, wrapped};
use diagnostic::terminal::colour;
use diagnostic::{links, visible};

/// Lines that nothing explains are shown up to so many.
const SHOWN: usize = 10;
/// A line of a log is cut after so many characters.
const SHOWN_LINE_LIMIT_CHARS: usize = 240;

pub fn report(diagnosis: &Diagnosis, layout: Layout, timeline: bool) -> String {
    let mut text = String::new();
    for (index, cause) in diagnosis.causes.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let full = index == 0 || layout.verbose;
        one(&mut text, index, cause, layout, full);
    }
    if diagnosis.causes.is_empty() {
        paragraph(&mut text, &nothing(diagnosis), "", layout);
    }
    if !diagnosis.silent.is_empty() {
        let ranks: Vec<String> = diagnosis.silent.iter().map(u32::to_string).collect();
        paragraph(&mut text, &format!("\nRanks that logged no failure: {}", ranks.join(", ")), "", layout);
    }
    lines(&mut text, "Errors that match no signature:", &diagnosis.unmatched_errors, layout);
    // Where nothing is known, they are all that there is.
    if layout.verbose || !diagnosis.failed() {
        lines(&mut text, "Lines that look like errors but may be harmless:", &diagnosis.suspicious, layout);
    }
    if !diagnosis.last.is_empty() {
        text.push_str("\nThe log ends with:\n");
        diagnosis.last.iter().for_each(|line| evidence(&mut text, line, layout));
    }
    unread(&mut text, diagnosis, layout);
    if timeline {
        moments(&mut text, diagnosis, layout);
    } else {
        aside(&mut text, &noticed(diagnosis), layout);
    }
    for remark in &diagnosis.remarks {
        paragraph(&mut text, &format!("Note: {remark}"), "", layout);
    }
    text
}

/// What was to be read and could not be.
fn unread(text: &mut String, diagnosis: &Diagnosis, layout: Layout) {
    if !diagnosis.unread.is_empty() {
        text.push('\n');
    }
    let (style, sign) = (Mark::Error.style(), Mark::Error.sign(layout.unicode));
    for (name, why) in &diagnosis.unread {
        let line = format!("cannot read {}: {why}; it was not searched", visible::line(name));
        wrapped(text, &line, &format!("{style}{sign}{style:#} "), "  ", layout);
    }
}

fn one(text: &mut String, index: usize, cause: &Cause, layout: Layout, full: bool) {
    let (style, sign) = match (cause.confidence, layout.unicode) {
        (Confidence::Candidate, _) => (colour(AnsiColor::Yellow).bold(), "?"),
        (_, true) => (colour(AnsiColor::Red).bold(), "✗"),
        (_, false) => (colour(AnsiColor::Red).bold(), "x"),
    };
    let bold = Style::new().bold();
    let _ = writeln!(
        text,
        "{style}{sign} {}{style:#} {bold}{}{bold:#}",
        title(index, cause),
        links::id(&cause.id)
    );
    if !full {
        paragraph(text, &cause.message, "  ", layout);
        cause.evidence.iter().take(1).for_each(|line| evidence(text, line, layout));
        return;
    }
    paragraph(text, &sentences(cause), "  ", layout);
    text.push('\n');
    cause.evidence.iter().for_each(|line| evidence(text, line, layout));
    if !cause.context.is_empty() {
        text.push_str("\n  Log context:\n");
        cause.context.iter().for_each(|line| evidence(text, line, layout));
    }
    for checked in &cause.machine_evidence {
        let line = format!("{}: {}: {}", checked.check, checked.outcome.word(), checked.message);
        paragraph(text, &line, "  ", layout);
    }
    text.push('\n');
    choices(text, cause.choices, layout);
}

/// The first cause alone, below a report that shows the lines itself; empty where nothing is known of them.
pub fn brief(diagnosis: &Diagnosis, layout: Layout) -> String {
    let mut text = String::new();
    if let Some(cause) = diagnosis.causes.first() {
        let _ = writeln!(text, "  {}: {}", title(0, cause), cause.id);
        paragraph(&mut text, &sentences(cause), "  ", layout);
        choices(&mut text, cause.choices, layout);
    }
    text
}

fn choices(text: &mut String, choices: &[Choice], layout: Layout) {
    let several = choices.len() > 1;
    if several {
        text.push_str("  Possible causes and how to confirm each:\n");
    }
    for (number, choice) in choices.iter().enumerate() {
        let start = if several { format!("{}. ", number + 1) } else { String::new() };
        hanging(text, &start, choice.cause, "  ", layout);
        if let Some(command) = command_to_confirm(choice) {
            hanging(text, "check: ", &command, "     ", layout);
        }
        if let Some(look_at) = choice.look_at {
            hanging(text, "look at: ", look_at, "     ", layout);
        }
        hanging(text, "fix:   ", choice.fix, "     ", layout);
        choice.commands.iter().for_each(|command| {
            let _ = writeln!(text, "            {command}");
        });
    }
}

fn evidence(text: &mut String, line: &Evidence, layout: Layout) {
    let dim = Style::new().dimmed();
    let (file, shown) = (visible::line(&line.file), cut(&line.text, line.focus, layout));
    let _ = writeln!(text, "  {dim}{file}:{}{dim:#}  {}", line.line, visible::line(&shown));
}

/// So many characters are shown before the words that tell most, of a line that is cut.
const BEFORE: usize = 60;

/// A line, or of a long one what stands around the words that tell most.
fn cut(text: &str, focus: Option<usize>, layout: Layout) -> String {
    let line = text.trim_start();
    if layout.verbose || line.char_indices().nth(SHOWN_LINE_LIMIT_CHARS).is_none() {
        return line.to_owned();
    }
    let dots = if layout.unicode { "…" } else { "..." };
    let offset = focus.and_then(|focus| focus.checked_sub(text.len() - line.len()));
    let offset = offset.filter(|offset| line[..*offset].chars().count() + BEFORE > SHOWN_LINE_LIMIT_CHARS);
    let first = offset.map_or(0, |offset| {
        line[..offset].char_indices().rev().nth(BEFORE - 1).map_or(0, |(first, _)| first)
    });
    let rest = &line[first..];
    let (shown, after) = match rest.char_indices().nth(SHOWN_LINE_LIMIT_CHARS) {
        Some((end, _)) => (&rest[..end], format!(" {dots}")),
        None => (rest, String::new()),
    };
    let before = if first > 0 { format!("{dots} ") } else { String::new() };
    format!("{before}{shown}{after}")
}

fn lines(text: &mut String, heading: &str, lines: &[Evidence], layout: Layout) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}");
    let shown = if layout.verbose { lines.len() } else { SHOWN };
    lines.iter().take(shown).for_each(|line| evidence(text, line, layout));
    if lines.len() > shown {
        let _ = writeln!(text, "  and {} more (--verbose)", lines.len() - shown);
    }
}

/// What is no failure and may be worth knowing.
fn aside(text: &mut String, moments: &[&Moment], layout: Layout) {
    if moments.is_empty() {
        return;
    }
    text.push_str("\nNo failure, but worth knowing:\n");
    let shown = if layout.verbose { moments.len() } else { SHOWN };
    for moment in moments.iter().take(shown) {
        let whose = moment.whose.as_ref().map_or(String::new(), |whose| format!("{}: ", whose.at_start()));
        let line = format!("{}:{}", moment.evidence.file, moment.evidence.line);
        paragraph(text, &format!("{whose}{} {} ({line})", moment.message, moment.id), "  ", layout);
    }
    if moments.len() > shown {
        let _ = writeln!(text, "  and {} more (--verbose)", moments.len() - shown);
    }
}

fn moments(text: &mut String, diagnosis: &Diagnosis, layout: Layout) {
    text.push_str("\nTimeline:\n");
    if diagnosis.timeline.is_empty() {
        text.push_str("  no known events\n");
    }
    for moment in &diagnosis.timeline {
        let role = match moment.role {
            Role::Root => "root",
            Role::Symptom => "symptom",
            Role::Context => "context",
        };
        let whose = moment.whose.as_ref().map_or(String::new(), Whose::to_string);
        let count = if moment.count > 1 { format!(" ({} lines)", moment.count) } else { String::new() };
        let line = format!("{}:{}", moment.evidence.file, moment.evidence.line);
        let start =
            format!("{:>9}  {whose:16} {role:8} {}{count}  {line}", seconds(moment.seconds), moment.id);
        let _ = writeln!(text, "{}", start.trim_end());
        if layout.verbose {
            paragraph(text, &moment.message, "             ", layout);
        }
    }
}

fn paragraph(text: &mut String, words: &str, indent: &str, layout: Layout) {
    hanging(text, "", words, indent, layout);
}

/// A paragraph whose further lines begin below its first word, right of `start`.
fn hanging(text: &mut String, start: &str, words: &str, indent: &str, layout: Layout) {
    let words = &*visible::line(words);
    let first = format!("{indent}{start}");
    let rest = " ".repeat(first.chars().count());
    // What is copied is never broken: paths, options.
    let options = textwrap::Options::new(layout.width)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let _ = writeln!(text, "{}", textwrap::fill(words, options));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;
    use catalog::testing::catalog;

    #[test]
    fn wrapped_items_have_a_hanging_indent() {
        let layout = Layout { width: 30, unicode: true, verbose: false, root: false };
        let mut text = String::new();
        hanging(&mut text, "fix:   ", "Use a current client, or set the API version", "     ", layout);
        assert_eq!(
            text,
            "     fix:   Use a current\n            client, or set the\n            API version\n"
        );
    }

    #[test]
    fn long_line_is_truncated_around_its_error_text() {
        let layout = Layout { width: 80, unicode: true, verbose: false, root: false };
        let words = "RuntimeError: CUDA error: no kernel image is available for execution on the device";
        let line = format!("{} {words} {}", "训".repeat(900), "y".repeat(900));
        let focus = Scanner::new(catalog()).offset(&line);
        let shown = cut(&line, focus, layout);
        assert!(shown.starts_with("… 训") && shown.ends_with("y …") && shown.contains(words), "{shown}");
        assert!(shown.chars().count() < SHOWN_LINE_LIMIT_CHARS + 5);
        assert_eq!(cut("short", None, layout), "short");
        let plain = cut(&"z".repeat(900), None, layout);
        assert!(plain.starts_with('z') && plain.ends_with('…'));
        assert_eq!(cut(&line, focus, Layout { verbose: true, ..layout }), line);
    }
}
