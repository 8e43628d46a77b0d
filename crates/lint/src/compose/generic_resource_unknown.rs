//! A stack that reserves a generic resource which no daemon.json offers.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, below, text};
use crate::rule::{Example, Found, Judge, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "stack.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "generic-resource-unknown",
    severity: Severity::Warning,
    summary: "the generic resources that stacks reserve are those of daemon.json",
    explain: include_str!("generic_resource_unknown.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  train:\n    image: b\n    deploy:\n      resources:\n        \
             reservations:\n          \
             generic_resources:\n            - discrete_resource_spec: {kind: gpu, value: 1}\n",
            &[(
                "daemon.json",
                "{\"default-runtime\": \"nvidia\", \"node-generic-resources\": \
                 [\"NVIDIA-GPU=GPU-45cbf7b3\"]}\n",
            )],
        ),
        with(
            "x-gpu: &gpu\n  resources:\n    reservations:\n      generic_resources:\n        - \
             discrete_resource_spec:\n            kind: NVIDIA_GPU\n            value: 2\nservices:\n  \
             llm:\n    image: b\n    deploy: *gpu\n",
            &[(
                "daemon.json",
                "{\"node-generic-resources\": [\"NVIDIA-GPU=GPU-45cbf7b3\", \
                 \"NVIDIA-GPU=GPU-9a1c02de\"]}\n",
            )],
        ),
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: GPU, value: 4}}]}}}\n",
            &[("daemon.json", "{\"node-generic-resources\": [\"GPU=a\", \"GPU=b\"]}\n")],
        ),
    ],
    silent: &[
        with(
            "services:\n  train:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: NVIDIA-GPU, value: 2}}]}}}\n",
            &[(
                "daemon.json",
                "{\"node-generic-resources\": [\"NVIDIA-GPU=GPU-45cbf7b3\", \
                 \"NVIDIA-GPU=GPU-9a1c02de\"]}\n",
            )],
        ),
        // dockerd refuses numbers as names, so that nothing is known of what the node offers.
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: NVIDIA-GPU, value: 4}}]}}}\n",
            &[("daemon.json", "{\"node-generic-resources\": [\"NVIDIA-GPU=0\", \"NVIDIA-GPU=1\"]}\n")],
        ),
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: gpu, value: 1}}]}}}\n",
            &[("daemon.json", "{\"node-generic-resources\": [\"GPU=a\", \"GPU=1\"]}\n")],
        ),
        // Another node offers it.
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: gpu, value: 1}}]}}}\n",
            &[
                ("daemon.json", "{\"node-generic-resources\": [\"SSD=2\"]}\n"),
                ("node2/daemon.json", "{\"node-generic-resources\": [\"gpu=GPU-1\"]}\n"),
            ],
        ),
        // The list of the machine is not in its file.
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: gpu, value: 1}}]}}}\n",
            &[("daemon.json", "{\"default-runtime\": \"nvidia\"}\n")],
        ),
        with(
            "services:\n  a:\n    image: b\n    deploy: {resources: {reservations: {generic_resources: \
             [{discrete_resource_spec: {kind: gpu, value: 4}}]}}}\n",
            &[("daemon.json", "{\"node-generic-resources\": [\"gpu=4\"]}\n")],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let daemons: Option<Vec<BTreeMap<String, u64>>> = daemons(file);
    let Some(daemons) = daemons.filter(|all| !all.is_empty()) else { return Vec::new() };
    let kinds: BTreeSet<&str> = daemons.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    file.services.iter().filter_map(|service| fault(&daemons, &kinds, service)).collect()
}

/// What each machine offers; nothing where one of them does not say it.
fn daemons(file: &Compose) -> Option<Vec<BTreeMap<String, u64>>> {
    let texts = file.files.iter().filter(|(path, _)| path.rsplit('/').next() == Some("daemon.json"));
    texts.filter_map(|(_, text)| text.as_deref()).map(offered).collect()
}

/// The kinds of `node-generic-resources`, and how many of each; nothing where dockerd refuses the list.
fn offered(text: &str) -> Option<BTreeMap<String, u64>> {
    let daemon: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in daemon.get("node-generic-resources")?.as_array()? {
        let (kind, value) = entry.as_str()?.split_once('=').filter(|(_, value)| !value.contains('='))?;
        kinds.entry(kind.trim()).or_default().push(value.trim());
    }
    let counted = kinds.into_iter().map(|(kind, values)| Some((kind.to_owned(), count(&values)?)));
    counted.collect::<Option<BTreeMap<String, u64>>>().filter(|kinds| !kinds.is_empty())
}

/// How many a node has of a kind, as swarmkit counts the values of that kind: one integer is the count,
/// names are counted, and integers among several values are refused.
fn count(values: &[&str]) -> Option<u64> {
    let is_integer = |value: &str| value.parse::<i64>().is_ok();
    match values {
        [one] if is_integer(one) => one.parse().ok(),
        _ => (!values.iter().any(|value| is_integer(value))).then_some(values.len() as u64),
    }
}

fn fault(daemons: &[BTreeMap<String, u64>], kinds: &BTreeSet<&str>, service: &Service) -> Option<Found> {
    let path = ["deploy", "resources", "reservations", "generic_resources"];
    let Some(Value::Sequence(items)) = service.at(&path) else { return None };
    items.iter().find_map(|item| {
        let spec = below(item, &["discrete_resource_spec"])?;
        let kind = below(spec, &["kind"]).and_then(text).filter(|kind| !kind.contains('$'))?;
        let value: Option<u64> = below(spec, &["value"]).and_then(text).and_then(|value| value.parse().ok());
        let most = daemons.iter().filter_map(|offers| offers.get(&kind)).max();
        let (message, fix) = match most {
            None => {
                let all = kinds.iter().copied().collect::<Vec<_>>().join(", ");
                let message = format!(
                    "service {} reserves generic resource {kind}, but the nodes offer only {all}; its tasks \
                     stay pending",
                    service.name
                );
                let fix = match diagnostic::suggest::nearest(&kind, kinds.iter().copied()) {
                    Some(near) => format!("Write `kind: {near}`, in the same case as in daemon.json"),
                    None => format!("Use one of the kinds that daemon.json lists: {all}"),
                };
                (message, fix)
            }
            Some(most) if value.is_some_and(|value| value > *most) => (
                format!(
                    "service {} reserves {} × {kind} per task, but no node offers more than {most}; its \
                     tasks stay pending",
                    service.name, value?
                ),
                format!("Reserve {most} at most, or list all of them in daemon.json"),
            ),
            Some(_) => return None,
        };
        Some(Found::warning(service.line_of("deploy"), message, fix))
    })
}
