//! The long text of a check, and the list of checks.

use diagnostic::layout::hanging;
use std::fmt::Write;

use serde::Serialize;

use ::image::inspect::judge::Question;
use checks::fleet::FleetCheck;
use checks::{Applies, CHECKS, Check, Group};
use resolve::exists::Explanation;

/// One check as Markdown.
pub fn check(check: &Check) -> String {
    format!(
        "# {}\n\n{}\n\nGroup: {} · looks at: {}\n\n{}",
        check.id,
        check.summary,
        check.group.id(),
        applies(check.applies),
        check.explain
    )
}

/// A check of several machines as Markdown.
pub fn fleet(check: &FleetCheck) -> String {
    format!(
        "# {}\n\n{}\n\nLooks at: several machines (`envdoc cluster check`)\n\n{}",
        check.id, check.summary, check.explain
    )
}

/// A question of `envdoc inspect` as Markdown.
pub fn question(question: &Question) -> String {
    format!("# {}\n\n{}\n\n{}", question.id, question.summary, question.explain)
}

/// What is known of a thing: the sentence, what does instead, a table, and the sources.
pub fn thing(explanation: &Explanation, width: usize) -> String {
    let mut text = format!("# {}\n\n{}\n", explanation.title, textwrap::fill(&explanation.says, width));
    match &explanation.instead[..] {
        [] => {}
        [one] => {
            let _ = writeln!(text, "\nNearest: {one}");
        }
        several => {
            text.push_str("\nNearest:\n");
            several.iter().for_each(|one| text.push_str(&hanging(&format!("- {one}"), 2, width)));
        }
    }
    if !explanation.rows.is_empty() {
        text.push('\n');
    }
    let longest = explanation.rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, row) in &explanation.rows {
        text.push_str(&hanging(&format!("{label:longest$}  {row}"), longest + 2, width));
    }
    match &explanation.sources[..] {
        [] => {}
        [one] => {
            let _ = write!(text, "\n{}", hanging(&format!("Source: {one}"), 2, width));
        }
        several => {
            text.push_str("\nSources:\n");
            several.iter().for_each(|one| text.push_str(&hanging(&format!("- {one}"), 2, width)));
        }
    }
    text
}

/// On which machines a check means something, in words.
pub fn applies(applies: Applies) -> &'static str {
    match applies {
        Applies::Anywhere => "every machine",
        Applies::Host => "machines, not containers",
        Applies::Container => "containers",
        Applies::Gpu => "machines and containers with a GPU",
        Applies::GpuHost => "machines with a GPU, not containers",
    }
}

/// The list, grouped.
pub fn list(width: usize) -> String {
    let longest = CHECKS.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for &group in Group::ALL {
        let checks: Vec<_> = CHECKS.iter().filter(|check| check.group == group).collect();
        if checks.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{} ({})", group.title(), group.id());
        for check in checks {
            let start = format!("  {:longest$}  ", check.id);
            let indent = " ".repeat(start.len());
            let options = textwrap::Options::new(width).initial_indent(&start).subsequent_indent(&indent);
            let _ = writeln!(text, "{}", textwrap::fill(check.summary, options));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} checks; `envdoc explain ID` tells what each looks at, why, and how to fix it",
        CHECKS.len()
    );
    text
}

/// The list for machines.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct CheckList {
    /// Version of this format.
    pub schema: u32,
    /// Every check, in the order of the report.
    pub checks: Vec<ListedCheck>,
}

/// One check.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ListedCheck {
    /// Its id.
    pub check: &'static str,
    /// Id of its group.
    pub group: &'static str,
    /// On which machines it means something.
    pub applies: &'static str,
    /// What a healthy machine shows.
    pub summary: &'static str,
    /// Markdown.
    pub explain: &'static str,
}

/// The list as data.
pub fn data() -> CheckList {
    let listed = |check: &&'static Check| ListedCheck {
        check: check.id,
        group: check.group.id(),
        applies: applies(check.applies),
        summary: check.summary,
        explain: check.explain,
    };
    CheckList { schema: 1, checks: CHECKS.iter().map(listed).collect() }
}
