//! `version` at the top of a compose file.

use crate::read::compose::{Compose, IsStack, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

/// The rule.
pub const RULE: Rule = Rule {
    id: "compose-version-obsolete",
    severity: Severity::Error,
    summary: "no `version` at the top, where nothing reads it",
    explain: "\
## What it finds
The top-level key `version`. In a compose file it is a note; in a stack file (`docker stack deploy`) a
version that is not 3.x is an error, and 3.x is left alone.

## Why it matters
Compose ignores it and prints a warning at each command. `docker stack deploy` does read it: without it the
newest schema is taken, and a file of version 2.x is refused as unsupported.

## How to fix it
Delete the line.

## Sources
- compose-spec/compose-spec:04-version-and-name.md
- docker/cli:cli/compose/schema/schema.go
",
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
    let says = match file.stack {
        IsStack::No => {
            return vec![Found::note(
                line,
                "`version` is obsolete: compose ignores it with a warning",
                "delete the line",
            )];
        }
        _ if version.starts_with('3') => return Vec::new(),
        _ => format!("`docker stack deploy` takes version 3.x, not {version}"),
    };
    vec![Found::error(line, says, "delete the line").unless_certain(file.stack == IsStack::Yes)]
}
