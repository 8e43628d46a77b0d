//! Markdown for an issue or a summary page.

use std::fmt::Write;

use crate::report::{Outcome, Report};
use crate::{Diagnostic, Subject, Verdict};

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
    let mut found: Vec<(&Outcome, &Diagnostic)> =
        report.results.iter().filter_map(|outcome| Some((outcome, outcome.verdict.found()?))).collect();
    found.sort_by_key(|(_, found)| std::cmp::Reverse(found.severity));
    for (outcome, found) in found {
        finding(&mut text, &outcome.rule.id, &outcome.subject, found);
    }
    unknown(&mut text, report);
    text
}

/// One finding as a section.
pub fn finding(text: &mut String, id: &str, subject: &Subject, found: &Diagnostic) {
    let place = place(subject).map_or(String::new(), |place| format!(" ({})", escape(&place)));
    let _ = writeln!(text, "## {}: `{id}`{place}\n\n{}\n", found.severity, escape(&found.message));
    for line in &found.evidence {
        let _ = writeln!(text, "- {}", escape(line));
    }
    if !found.evidence.is_empty() {
        text.push('\n');
    }
    for fix in &found.fixes {
        let consequence = fix.class.consequence().map_or(String::new(), |words| format!(" ({words})"));
        let _ = writeln!(text, "Fix{consequence}: {}\n", escape(&fix.title));
        if !fix.commands.is_empty() {
            let _ = writeln!(text, "```sh\n{}\n```\n", fix.commands.join("\n"));
        }
    }
}

/// `node2`, `Dockerfile:3`; `None` where nothing is known.
pub fn place(subject: &Subject) -> Option<String> {
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
        let _ = writeln!(text, "## Could not check\n\n| check | reason |\n|---|---|\n{}", rows.join("\n"));
    }
}

fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|")
}

fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('\n', " ")
}
