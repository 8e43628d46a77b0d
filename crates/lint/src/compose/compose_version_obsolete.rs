//! `version` at the top of a compose file.

use crate::read::compose::{Compose, IsStack, text};
use crate::rule::{Change, Found, Judge, Rule, Severity, compose, stack};

pub(crate) const RULE: Rule = Rule {
    id: "compose-version-obsolete",
    severity: Severity::Error,
    summary: "no obsolete top-level `version`",
    explain: include_str!("compose_version_obsolete.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("version: \"3\"\nservices:\n  a:\n    image: b\n"),
        stack("version: \"2.4\"\nservices:\n  a:\n    image: b\n"),
    ],
    silent: &[
        compose("services:\n  a:\n    image: b\n"),
        stack("version: \"3.8\"\nservices:\n  a:\n    image: b\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let Some(version) = file.top("version").and_then(text) else { return Vec::new() };
    let line = file.line(&["version"]);
    let change = Change::Line { line: line.line, key: "version".to_owned(), value: version.clone() };
    let message = match file.stack {
        IsStack::No => {
            return vec![
                Found::note(
                    line,
                    "`version` is obsolete; compose ignores it and prints a warning",
                    "Delete the line",
                )
                .change(change),
            ];
        }
        _ if version.starts_with('3') => return Vec::new(),
        _ => format!("`docker stack deploy` supports version 3.x, not {version}, and refuses the file"),
    };
    vec![
        Found::error(line, message, "Delete the line")
            .change(change)
            .unless_certain(file.stack == IsStack::Yes),
    ]
}
