//! A MIG profile as a resource where the device plugin offers MIG devices as whole GPUs.

use crate::read::manifest::{Container, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "mig-resource-not-offered",
    severity: Severity::Warning,
    summary: "resources of MIG profiles are requested only with the MIG strategy mixed",
    explain: include_str!("mig_resource_not_offered.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     resources:\n        limits:\n          nvidia.com/mig-1g.10gb: 1\n",
            &[("values.yaml", "migStrategy: single\n")],
        ),
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     resources:\n        limits:\n          nvidia.com/mig-1g.10gb: 1\n",
            &[("values.yaml", "mig:\n  strategy: none\ntoolkit: {enabled: true}\n")],
        ),
    ],
    silent: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     resources:\n        limits:\n          nvidia.com/mig-1g.10gb: 1\n",
            &[("values.yaml", "migStrategy: mixed\n")],
        ),
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     resources:\n        limits:\n          nvidia.com/gpu: 1\n",
            &[("values.yaml", "migStrategy: single\n")],
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let documents: Vec<_> = file.documents.iter().chain(&file.others).collect();
    let strategies: Vec<String> = documents.iter().filter_map(|one| strategy(one)).collect();
    let Some(strategy) = strategies.first() else { return Vec::new() };
    if strategies.iter().any(|one| one == "mixed") || !matches!(strategy.as_str(), "single" | "none") {
        return Vec::new();
    }
    file.of_containers(|one| fault(one, strategy))
}

/// The strategy that values of the device plugin's or the GPU operator's chart set, or the plugin's
/// configuration in a ConfigMap, or a ClusterPolicy.
fn strategy(document: &crate::read::manifest::Document) -> Option<String> {
    let value = &document.value;
    let plain = [&["migStrategy"][..], &["mig", "strategy"], &["spec", "mig", "strategy"]];
    if let Some(found) = plain.into_iter().find_map(|path| scalar(value, path)) {
        return Some(found);
    }
    let data = document.at(&["data"])?.as_mapping()?;
    let texts = data.iter().filter_map(|(_, text)| text.as_str());
    let lines = texts.flat_map(str::lines);
    let found = lines.filter_map(|line| line.trim().strip_prefix("migStrategy:"));
    found.map(|value| value.trim().trim_matches(['"', '\'']).to_owned()).next()
}

fn fault(container: &Container, strategy: &str) -> Option<Found> {
    let limits = container.resources("limits");
    let (name, _) = limits.iter().find(|(name, _)| name.starts_with("nvidia.com/mig-"))?;
    let message = format!(
        "container {} requests {name}, but with the MIG strategy {strategy} the device plugin offers only \
         nvidia.com/gpu; the pod stays Pending",
        container.name
    );
    let fix = match strategy {
        "single" => "Request `nvidia.com/gpu`, or set the strategy `mixed`",
        _ => "Set the strategy `mixed`",
    };
    Some(Found::warning(container.line(&["resources", "limits", name]), message, fix))
}
