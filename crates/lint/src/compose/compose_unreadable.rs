//! A compose file that is no YAML.

use crate::read::compose::Compose;
use crate::rule::{Found, Judge, Rule, Severity, compose};

/// The rule.
pub const RULE: Rule = Rule {
    id: "compose-unreadable",
    severity: Severity::Error,
    summary: "the file is YAML, and has services",
    explain: "\
## What it finds
Files that cannot be read as YAML (tabs, a key twice, broken indentation), and files whose `services` is no
mapping. A template that still has to be filled in ({% … %}) is a note: it was not looked at.

## Why it matters
`docker compose` and `docker stack deploy` refuse the whole file, and no other rule could look at it.

## How to fix it
Go to the line that is named; `docker compose config` shows what is read.

## Sources
- https://github.com/compose-spec/compose-spec/blob/main/spec.md
",
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n   image: c\n"),
        compose("services:\n  - a\n"),
        compose("services:\n  a:\n    image: b\n    shm_size: 1g\n    shm_size: 5g\n"),
        compose("services:\n{% for name in names %}\n  a:\n    image: b\n{% endfor %}\n"),
    ],
    silent: &[compose("services:\n  a:\n    image: b\n"), compose("include:\n  - other.yaml\n")],
};

fn judge(file: &Compose) -> Vec<Found> {
    if let Some((place, why)) = &file.broken {
        if file.template {
            return vec![Found::note(
                place.clone(),
                "a template: it was not looked at",
                "lint what it renders",
            )];
        }
        let why = why.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        return vec![Found::error(place.clone(), format!("this cannot be read as YAML: {why}"), "")];
    }
    match file.top("services") {
        Some(services) if !services.is_mapping() && !services.is_null() => {
            let says = "`services` is no mapping of names to services";
            vec![Found::error(file.line(&["services"]), says, "services: {NAME: {image: …}}")]
        }
        _ => Vec::new(),
    }
}
