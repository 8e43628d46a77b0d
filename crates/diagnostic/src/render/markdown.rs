//! Markdown for an issue or a summary page.

use std::fmt::Write;

use crate::report::{Body, Column, Nodes, Outcome, Report, Row, Section, Summary};
use crate::{Diagnostic, Fix, Subject, Verdict};

/// The findings first, the worst of them first, then what could not be checked.
pub fn report(report: &Report) -> String {
    let mut text = format!("# {}\n\n", report.command);
    for line in &report.about {
        let _ = writeln!(text, "- {}", escape(line));
    }
    let summary = report.summary();
    let idle = match summary.not_applicable {
        0 => String::new(),
        count => format!(", {count} not applicable"),
    };
    let words = summary.words();
    let words = if words.is_empty() { "no findings".to_owned() } else { words };
    let _ = writeln!(text, "\n**{words}**{idle}\n");
    for one in &report.overview {
        section(&mut text, one);
    }
    let mut found: Vec<(&Outcome, &Diagnostic)> =
        report.results.iter().filter_map(|outcome| Some((outcome, outcome.verdict.found()?))).collect();
    found.sort_by_key(|(_, found)| std::cmp::Reverse(found.severity));
    for (outcome, found) in found {
        finding(&mut text, &outcome.rule.id, &outcome.subject, found);
    }
    unknown(&mut text, report);
    steps(&mut text, report);
    for one in &report.sections {
        section(&mut text, one);
    }
    text
}

/// One finding as a section.
pub fn finding(text: &mut String, id: &str, subject: &Subject, found: &Diagnostic) {
    let location = location(subject).map_or(String::new(), |location| format!(" ({})", escape(&location)));
    let _ = writeln!(text, "## {}: `{id}`{location}\n\n{}\n", found.severity, escape(&found.message));
    for line in &found.evidence {
        let _ = writeln!(text, "- {}", escape(line));
    }
    if !found.evidence.is_empty() {
        text.push('\n');
    }
    found.fixes.iter().for_each(|one| fix(text, one));
}

fn fix(text: &mut String, fix: &Fix) {
    let consequence = fix.class.consequence().map_or(String::new(), |words| format!(" ({words})"));
    let _ = writeln!(text, "Fix{consequence}: {}\n", escape(&fix.title));
    if !fix.commands.is_empty() {
        let _ = writeln!(text, "```sh\n{}\n```\n", fix.commands.join("\n"));
    }
}

/// `node2`, `Dockerfile:3`; `None` where nothing is known.
pub fn location(subject: &Subject) -> Option<String> {
    let file = subject.file.as_ref().map(|file| match subject.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let parts: Vec<String> = [subject.node.clone(), file].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn unknown(text: &mut String, report: &Report) {
    let rows: Vec<String> = report
        .results
        .iter()
        .filter_map(|outcome| match &outcome.verdict {
            Verdict::Unknown(why) => {
                let node = outcome.subject.node.as_ref().map_or(String::new(), |node| format!("{node}: "));
                Some(format!("| {node}`{}` | {} |", outcome.rule.id, cell(&why.detail)))
            }
            _ => None,
        })
        .collect();
    if !rows.is_empty() {
        let _ = writeln!(text, "## Could not check\n\n| check | reason |\n|---|---|\n{}\n", rows.join("\n"));
    }
}

const STEPS: [Column; 5] = [
    Column::words("step"),
    Column::words("node"),
    Column::words("status"),
    Column::number("seconds"),
    Column::words("result"),
];

/// The results that are steps of a test, in the order in which they ran.
fn steps(text: &mut String, report: &Report) {
    let row = |outcome: &Outcome| {
        let step = outcome.step.as_ref()?;
        let node = outcome.subject.node.as_deref().unwrap_or("all");
        let (id, status) = (outcome.rule.id.as_ref(), outcome.verdict.status());
        let seconds = format!("{:.2}", step.seconds);
        let cells = [id, node, status, &seconds, &step.observed].map(str::to_owned).to_vec();
        Some(Row { cells, mark: step.mark })
    };
    let rows: Vec<Row> = report.results.iter().filter_map(row).collect();
    if !rows.is_empty() {
        text.push_str("## Steps\n\n");
        table(text, &STEPS, &rows);
    }
}

fn section(text: &mut String, section: &Section) {
    if matches!(section.body, Body::Chart(_)) {
        return;
    }
    let _ = writeln!(text, "## {}\n", escape(&section.heading));
    match &section.body {
        Body::Table { columns, rows } => table(text, columns, rows),
        Body::Lines(lines) => fenced(text, lines),
        Body::List(points) => {
            for point in points {
                let _ = writeln!(text, "- {}", escape(point));
            }
            text.push('\n');
        }
        Body::Fixes(fixes) => fixes.iter().for_each(|one| fix(text, one)),
        Body::Ignored(entries) => {
            for one in entries {
                let _ = writeln!(text, "- `{}` ({})", one.id, escape(&one.file));
            }
            text.push('\n');
        }
        Body::Nodes(of) => nodes(text, of),
        Body::Chart(_) => {}
    }
}

/// A row is marked in its first cell.
fn table(text: &mut String, columns: &[Column], rows: &[Row]) {
    let titles: Vec<String> = columns.iter().map(|column| cell(column.title)).collect();
    let rules: Vec<&str> = columns.iter().map(|column| if column.number { "---:" } else { "---" }).collect();
    let _ = writeln!(text, "| {} |\n|{}|", titles.join(" | "), rules.join("|"));
    for row in rows {
        let mut cells: Vec<String> = row.cells.iter().map(|one| cell(one)).collect();
        if let (Some((_, word)), Some(first)) = (row.mark, cells.first_mut()) {
            *first = format!("{first} **{word}**");
        }
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

/// A row a node; a cell has everything but the passed checks.
fn nodes(text: &mut String, nodes: &Nodes) {
    let titles: String = nodes.groups.iter().map(|group| format!(" {} |", cell(group.title))).collect();
    let _ = writeln!(
        text,
        "| node | all |{titles} endpoint |\n|---|---|---|{}",
        "---|".repeat(nodes.groups.len())
    );
    let words = |summary: &Summary| {
        let not_passed = Summary { pass: 0, ..*summary };
        let words = if not_passed.is_clear() { summary.words() } else { not_passed.words() };
        if words.is_empty() { "-".to_owned() } else { words }
    };
    for row in &nodes.rows {
        let groups: String = row.groups.iter().map(|group| format!(" {} |", words(group))).collect();
        let (name, detail) = (cell(&row.name), cell(&row.detail));
        let _ = writeln!(text, "| {name} | {} |{groups} {detail} |", row.all.words());
    }
    text.push('\n');
    for sentence in nodes.without_column() {
        let _ = writeln!(text, "{sentence}\n");
    }
}

/// Lines of a log in a fence that is longer than any in them.
fn fenced(text: &mut String, lines: &[String]) {
    let ticks = |line: &String| line.chars().filter(|c| *c == '`').count();
    let fence = "`".repeat(lines.iter().map(ticks).max().unwrap_or(0).max(2) + 1);
    let _ = writeln!(text, "{fence}text\n{}\n{fence}\n", lines.join("\n"));
}

fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|")
}

fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('\n', " ")
}
