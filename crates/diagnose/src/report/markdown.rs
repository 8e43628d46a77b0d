//! The diagnosis for an issue: what names people, machines and networks is replaced as in snapshots.

use std::fmt::Write;

use super::text::look;
use super::{nothing, noticed, seconds, sentences, title};
use crate::root_cause::{Cause, Diagnosis, Evidence};
use host::redact;

/// The report, redacted.
pub fn report(diagnosis: &Diagnosis, timeline: bool) -> String {
    let mut text = String::from("# envdoc diagnose\n\n");
    for (place, cause) in diagnosis.causes.iter().enumerate() {
        one(&mut text, place, cause);
    }
    if diagnosis.causes.is_empty() {
        let _ = writeln!(text, "{}\n", nothing(diagnosis));
    }
    if !diagnosis.silent.is_empty() {
        let ranks: Vec<String> = diagnosis.silent.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "Ranks that logged no failure: {}\n", ranks.join(", "));
    }
    block(&mut text, "## Errors that match no signature", &diagnosis.unmatched_errors);
    block(&mut text, "## The log ends with", &diagnosis.last);
    if timeline {
        text.push_str("## Timeline\n\n| seconds | rank and node | event | first line |\n|---|---|---|---|\n");
        for moment in &diagnosis.timeline {
            let _ = writeln!(
                text,
                "| {} | {} | `{}` | {}:{} |",
                seconds(moment.seconds),
                moment.whose.as_deref().unwrap_or(""),
                moment.id,
                moment.evidence.file,
                moment.evidence.line
            );
        }
        text.push('\n');
    }
    for moment in noticed(diagnosis) {
        let line = format!("{}:{}", moment.evidence.file, moment.evidence.line);
        let _ = writeln!(
            text,
            "- no failure, but worth knowing: {} (`{}`, {line})",
            escape(&moment.message),
            moment.id
        );
    }
    for (name, why) in &diagnosis.unread {
        let _ = writeln!(text, "- cannot read {}: {}; it was not searched", escape(name), escape(why));
    }
    for remark in &diagnosis.remarks {
        let _ = writeln!(text, "- {remark}");
    }
    redact::log(text.trim_end(), &diagnosis.nodes) + "\n"
}

fn one(text: &mut String, place: usize, cause: &Cause) {
    let _ = writeln!(text, "## {}: `{}`\n\n{}\n", title(place, cause), cause.id, escape(&sentences(cause)));
    block(text, "", &cause.evidence);
    if place == 0 {
        block(text, "Log context:", &cause.context);
    }
    for looked in &cause.machine_evidence {
        let _ =
            writeln!(text, "- `{}`: {}: {}", looked.check, looked.outcome.word(), escape(&looked.message));
    }
    if place > 0 {
        return;
    }
    for choice in cause.choices {
        let _ =
            writeln!(text, "- {} (check: `{}`): {}", escape(choice.cause), look(choice), escape(choice.fix));
    }
    text.push('\n');
}

fn block(text: &mut String, heading: &str, lines: &[Evidence]) {
    if lines.is_empty() {
        return;
    }
    if !heading.is_empty() {
        let _ = writeln!(text, "{heading}\n");
    }
    // A fence longer than any in the lines.
    let longest = lines.iter().map(|line| line.text.chars().filter(|c| *c == '`').count()).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(text, "{fence}text");
    for line in lines {
        let _ = writeln!(text, "{}:{}: {}", line.file, line.line, line.text);
    }
    let _ = writeln!(text, "{fence}\n");
}

fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('\n', " ")
}
