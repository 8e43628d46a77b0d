//! A compose file that docker compose cannot read.

use catalog::stack_keys::Section;
use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "compose-unreadable",
    severity: Severity::Error,
    summary: "the file is valid YAML with the top-level keys of Compose",
    explain: include_str!("compose_unreadable.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n   image: c\n"),
        compose("services:\n  - a\n"),
        compose("services:\n  a:\n    image: b\n    shm_size: 1g\n    shm_size: 5g\n"),
        compose("foo: bar\n"),
        compose("# nothing yet\n"),
        compose("- services\n"),
        compose("services:\n{% for name in names %}\n  a:\n    image: b\n{% endfor %}\n"),
    ],
    silent: &[
        compose("services:\n  a:\n    image: b\n"),
        compose("include:\n  - other.yaml\n"),
        compose("x-a: &a\n  image: b\nvolumes:\n  c:\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if let Some((location, why)) = &file.broken {
        if file.template {
            return vec![Found::note(
                location.clone(),
                "file is a template and was not checked",
                "Lint the rendered file",
            )];
        }
        return vec![Found::error(location.clone(), why.to_string(), "")];
    }
    if file.template {
        return Vec::new();
    }
    let refused = not_a_mapping(file).into_iter().chain(unknown_keys(file)).collect::<Vec<_>>();
    if !refused.is_empty() {
        return refused;
    }
    match file.top("services") {
        Some(services) if !services.is_mapping() && !services.is_null() => {
            let message = "`services` is not a mapping; compose refuses the file";
            vec![Found::error(file.line(&["services"]), message, "Write `services: {NAME: {image: …}}`")]
        }
        _ => Vec::new(),
    }
}

/// What docker compose says of a file without any key.
fn not_a_mapping(file: &Compose) -> Option<Found> {
    let message = match &file.root {
        Value::Mapping(_) => return None,
        Value::Null => "the file is empty; docker compose refuses it",
        _ => "the file is not a mapping; docker compose refuses it",
    };
    Some(Found::error(1, message, "Write `services: {NAME: {image: …}}`"))
}

/// Keys at the top that docker compose does not know. Stack files have a rule of their own.
fn unknown_keys(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    let keys = file.root.as_mapping().into_iter().flatten().filter_map(|(key, _)| text(key));
    let known = |key: &str| file.catalog.stack_keys().accepts(Section::Compose, key);
    let unknown = keys.filter(|key| !known(key) && !key.starts_with("x-"));
    let found = unknown.map(|key| {
        let message =
            format!("docker compose refuses the file: additional property `{key}` at the top level");
        let fix = match file.top("services") {
            Some(_) => "Delete it, or rename it to begin with `x-`",
            None => "Put services under `services:`, if this is a Compose file",
        };
        Found::error(file.line(&[&key]), message, fix)
    });
    found.collect()
}
