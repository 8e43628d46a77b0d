//! A manifest that is not YAML, or no manifest.

use crate::read::manifest::Manifest;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "manifest-unreadable",
    severity: Severity::Error,
    summary: "every document of a manifest is YAML with an apiVersion and a kind",
    explain: include_str!("manifest_unreadable.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n"),
        named("pod.yaml", "apiVersion: v1\nkind: ConfigMap\n---\nmetadata:\n  name: a\n"),
    ],
    silent: &[
        named("pod.yaml", "---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n"),
        // A name to fill in.
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: {username}/server:latest\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let broken = file.broken.iter().map(|(line, why)| Found::error(*line, why.to_string(), ""));
    let twice = file.twice.iter().map(|(line, key)| {
        let message = format!("key {key} is given twice; the first value is lost");
        Found::warning(*line, message, "Keep one of them, or merge their values")
    });
    let lacking = file.documents.iter().filter_map(|one| {
        let missing = match (one.api.is_empty(), one.kind.is_empty()) {
            (false, false) => return None,
            (true, _) => "apiVersion",
            _ => "kind",
        };
        let message = format!("the document has no `{missing}`; kubectl refuses it");
        Some(Found::error(
            one.first,
            message,
            format!("Add `{missing}`, or move the keys into the right document"),
        ))
    });
    broken.chain(twice).chain(lacking).collect()
}
