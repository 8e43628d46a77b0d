//! A rule's long text, and the list of rules.

use std::fmt::Write;

use crate::{RULES, Rule, Subject};

/// One rule as Markdown.
pub fn rule(rule: &Rule) -> String {
    format!(
        "# {}\n\n{}\n\n{} · at worst: {}\n\n{}",
        rule.id,
        rule.summary,
        rule.subject().title(),
        rule.severity.word(),
        rule.explain
    )
}

/// Every rule with its summary.
pub fn list(width: usize) -> String {
    let longest = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for subject in Subject::ALL {
        let _ = writeln!(text, "{} ({})", subject.title(), subject.id());
        for rule in RULES.iter().filter(|rule| rule.subject() == *subject) {
            let start = format!("  {:longest$}  {:7}  ", rule.id, rule.severity.word());
            let indent = " ".repeat(start.len());
            let options = textwrap::Options::new(width).initial_indent(&start).subsequent_indent(&indent);
            let _ = writeln!(text, "{}", textwrap::fill(rule.summary, options));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} rules. `envdoc explain RULE` shows what a rule finds, why, and how to fix it",
        RULES.len()
    );
    text
}
