//! GitHub Actions annotations: one line for each finding and each unknown result, and one for what settings
//! files leave out.

use std::fmt::Write;

use super::COULD_NOT_CHECK;
use super::json::IgnoredEntry;
use crate::report::{Outcome, Report};
use crate::{Diagnostic, Severity, Verdict};

/// Workflow commands, `::error file=F,line=L,title=ID::TEXT`.
pub fn report(report: &Report) -> String {
    let ignored = IgnoredEntry::statement(report.ignored());
    let ignored = ignored.map(|statement| format!("::notice title=ignored::{}\n", escape(&statement)));
    report.results.iter().filter_map(annotation).chain(ignored).collect()
}

fn annotation(outcome: &Outcome) -> Option<String> {
    let (level, body) = match &outcome.verdict {
        Verdict::Pass | Verdict::NotApplicable(_) => return None,
        Verdict::Unknown(why) => ("notice", format!("{COULD_NOT_CHECK}: {why}")),
        Verdict::Found(found) => (level(found.severity), body(found)),
    };
    let subject = &outcome.subject;
    let mut properties = String::new();
    if let Some(file) = &subject.file {
        let _ = write!(properties, "file={},", property(file));
        for (name, value) in [("line", subject.line), ("col", subject.column)] {
            if let Some(value) = value {
                let _ = write!(properties, "{name}={value},");
            }
        }
    }
    let node = subject.node.as_ref().map_or(String::new(), |node| format!("{node}: "));
    let title = property(&format!("{node}{}", outcome.rule.id));
    Some(format!("::{level} {properties}title={title}::{}\n", escape(&body)))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

fn body(found: &Diagnostic) -> String {
    let mut text = found.message.clone();
    if let Some(fix) = found.fixes.first() {
        if !fix.title.is_empty() {
            let _ = write!(text, "\nfix: {}", fix.title);
        }
        for command in &fix.commands {
            let _ = write!(text, "\n  {command}");
        }
    }
    text
}

/// The characters that end or split a workflow command.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}
