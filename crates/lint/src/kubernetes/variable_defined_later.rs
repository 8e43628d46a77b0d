//! `$(NAME)` in a variable above the one that it names.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-defined-later",
    severity: Severity::Error,
    summary: "variables in `$(NAME)` are defined above the variable that uses them",
    explain: include_str!("variable_defined_later.md"),
    judge: Judge::Manifest(judge),
    fires: &[named(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: \
         b\n      env:\n        - {name: INIT, value: \"tcp://$(HEAD):29500\"}\n        - \
         {name: HEAD, value: \
         node-0}\n",
    )],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      env:\n        - {name: HEAD, value: node-0}\n        - {name: INIT, value: \
             \"tcp://$(HEAD):29500\"}\n        - {name: TEXT, value: \"$$(LAST) $(OTHER) $(TEXT)\"}\n\
             \x20       - {name: LAST, value: a}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      envFrom: [{configMapRef: {name: c}}]\n      env:\n        - {name: INIT, value: \
             $(HEAD)}\n        - {name: HEAD, value: node-0}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(faults)
}

fn faults(container: &Container) -> Vec<Found> {
    // Another source may define the name before.
    if below(container.value, &["envFrom"]).is_some() {
        return Vec::new();
    }
    let variables: Vec<(String, Option<String>)> = list(container.value, "env")
        .into_iter()
        .map(|one| (scalar(one, &["name"]).unwrap_or_default(), scalar(one, &["value"])))
        .collect();
    let mut found = Vec::new();
    for (at, (name, value)) in variables.iter().enumerate() {
        let Some(value) = value else { continue };
        let is_later = |used: &&str| {
            !variables[..at].iter().any(|(known, _)| known == used)
                && variables[at + 1..].iter().any(|(known, _)| known == used)
        };
        let Some(used) = references(value).into_iter().find(|used| is_later(used)) else { continue };
        let message = format!(
            "{name} uses $({used}), which is defined below it; Kubernetes leaves the text `$({used})` in the \
             value"
        );
        let line = container.line(&["env", &at.to_string(), "value"]);
        found.push(Found::error(line, message, format!("Move {used} above {name}")).about(name));
    }
    found
}

/// The names in `$(NAME)`; `$$` is a dollar sign.
fn references(value: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), value);
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(other) = rest.strip_prefix('$') {
            rest = other;
        } else if let Some((name, other)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            found.push(name);
            rest = other;
        }
    }
    found
}
