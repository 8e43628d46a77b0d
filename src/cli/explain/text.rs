//! Explanations as text, and the list of checks.

use diagnostic::layout::hanging;
use std::fmt::Write;

use serde::Serialize;

use ::config::OwnCheck;
use checks::CHECKS;
use diagnostic::rule::Rule;
use judge::fleet::FleetCheck;
use judge::{Applies, Check, Group};
use resolve::lookup::Explanation;

pub(crate) fn check(check: &Check) -> String {
    format!(
        "# {}\n\n{}\n\nGroup: {} · applies to: {}\n\n{}",
        check.id,
        check.summary,
        check.group.id(),
        applies(check.applies),
        check.explain
    )
}

pub(crate) fn fleet(check: &FleetCheck) -> String {
    format!(
        "# {}\n\n{}\n\nApplies to: several machines (`envdoc cluster check`)\n\n{}",
        check.id, check.summary, check.explain
    )
}

pub(crate) fn image(rule: &dyn Rule) -> String {
    format!("# {}\n\n{}\n\n{}", rule.id(), rule.summary(), rule.explain())
}

pub(crate) fn own(check: &OwnCheck) -> String {
    let rule = check.rule();
    let trust = check.untrusted().map(|untrusted| {
        format!(
            "\n{untrusted}, so the command does not run. Read the file, then run `{}`.\n",
            untrusted.command()
        )
    });
    format!("# {}\n\n{}\n\n{}{}", rule.id, rule.summary, rule.explain, trust.unwrap_or_default())
}

/// The explanation, alternatives, a table, and the sources.
pub(crate) fn lookup(explanation: &Explanation, width: usize) -> String {
    let mut text = format!("# {}\n\n{}\n", explanation.title, textwrap::fill(&explanation.summary, width));
    match &explanation.alternatives[..] {
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

/// The machines that a check applies to.
pub fn applies(applies: Applies) -> &'static str {
    match applies {
        Applies::Anywhere => "every machine",
        Applies::Host => "machines, not containers",
        Applies::Container => "containers",
        Applies::Gpu => "machines and containers with a GPU",
        Applies::GpuHost => "machines with a GPU, not containers",
    }
}

/// The checks by group.
pub(crate) fn list(width: usize) -> String {
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
        "{} checks; `envdoc explain ID` shows what a check does, why, and how to fix a finding",
        CHECKS.len()
    );
    text
}

/// Output of `envdoc checks --format json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct CheckList {
    /// Version of this format.
    pub schema: u32,
    /// All checks, in report order.
    pub checks: Vec<ListedCheck>,
}

/// A check, with its explanation.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ListedCheck {
    /// Check id.
    pub check: &'static str,
    /// Group id.
    pub group: &'static str,
    /// Machines that the check applies to.
    pub applies: &'static str,
    /// State of a healthy machine.
    pub summary: &'static str,
    /// Explanation, as Markdown.
    pub explain: &'static str,
}

pub(crate) fn data() -> CheckList {
    let listed = |check: &&'static Check| ListedCheck {
        check: check.id,
        group: check.group.id(),
        applies: applies(check.applies),
        summary: check.summary,
        explain: check.explain,
    };
    CheckList { schema: 1, checks: CHECKS.iter().map(listed).collect() }
}
