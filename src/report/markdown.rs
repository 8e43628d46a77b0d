//! Markdown for an issue or a summary page.

use std::fmt::Write;

use super::{Summary, json, status};
use crate::checks::{CheckResult, Verdict};

/// The report of some results: what was found first, then what could not be looked at.
pub fn report(machine: &[String], results: &[CheckResult]) -> String {
    let mut text = String::from("# envdoc check\n\n");
    for line in machine {
        let _ = writeln!(text, "- {line}");
    }
    let summary = Summary::of(results);
    let _ = writeln!(text, "\n**{}**, {} not applicable\n", summary.words(), summary.not_applicable);
    for result in results {
        if let Verdict::Finding { says, evidence, fix, .. } = &result.verdict {
            let _ =
                writeln!(text, "## {}: `{}`\n\n{}\n", status(&result.verdict), result.check.id, escape(says));
            for line in evidence {
                let _ = writeln!(text, "- {}", escape(line));
            }
            if !evidence.is_empty() {
                text.push('\n');
            }
            let _ = writeln!(text, "Fix ({}): {}\n", json::class(fix.class), escape(&fix.text));
            if !fix.commands.is_empty() {
                let _ = writeln!(text, "```sh\n{}\n```\n", fix.commands.join("\n"));
            }
        }
    }
    let unknown: Vec<_> = results
        .iter()
        .filter_map(|result| match &result.verdict {
            Verdict::Unknown(why) => {
                Some(format!("| `{}` | {} |", result.check.id, escape(why).replace('|', "\\|")))
            }
            _ => None,
        })
        .collect();
    if !unknown.is_empty() {
        let _ = writeln!(text, "## Could not look\n\n| check | why |\n|---|---|\n{}", unknown.join("\n"));
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('\n', " ")
}
