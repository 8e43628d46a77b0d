//! A stack that reserves a generic resource which no daemon.json offers.

use std::collections::BTreeMap;

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
            &[("daemon.json", "{\"node-generic-resources\": [\"NVIDIA-GPU=0\", \"NVIDIA-GPU=1\"]}\n")],
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
            &[("daemon.json", "{\"node-generic-resources\": [\"NVIDIA-GPU=0\", \"NVIDIA-GPU=1\"]}\n")],
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
    file.services.iter().filter_map(|service| fault(&daemons, service)).collect()
}

/// What each machine offers; nothing where one of them does not say it.
fn daemons(file: &Compose) -> Option<Vec<BTreeMap<String, u64>>> {
    let texts = file.files.iter().filter(|(path, _)| path.rsplit('/').next() == Some("daemon.json"));
    texts.filter_map(|(_, text)| text.as_deref()).map(offered).collect()
}

/// The kinds of `node-generic-resources`, and how many of each.
fn offered(text: &str) -> Option<BTreeMap<String, u64>> {
    let daemon: serde_json::Value = serde_json::from_str(text).ok()?;
    let entries = daemon.get("node-generic-resources")?.as_array()?;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries {
        let (kind, value) = entry.as_str()?.split_once('=')?;
        // A number alone is how many there are; several entries of a kind are its names.
        let alone =
            entries.iter().filter_map(|one| one.as_str()?.split_once('=')).filter(|one| one.0 == kind);
        let count = match alone.count() {
            1 => value.parse().unwrap_or(1),
            _ => 1,
        };
        *kinds.entry(kind.to_owned()).or_default() += count;
    }
    Some(kinds).filter(|kinds| !kinds.is_empty())
}

fn fault(daemons: &[BTreeMap<String, u64>], service: &Service) -> Option<Found> {
    let path = ["deploy", "resources", "reservations", "generic_resources"];
    let Some(Value::Sequence(items)) = service.at(&path) else { return None };
    items.iter().find_map(|item| {
        let spec = below(item, &["discrete_resource_spec"])?;
        let kind = below(spec, &["kind"]).and_then(text).filter(|kind| !kind.contains('$'))?;
        let value: Option<u64> = below(spec, &["value"]).and_then(text).and_then(|value| value.parse().ok());
        let most = daemons.iter().filter_map(|offers| offers.get(&kind)).max();
        let all: Vec<String> = {
            let mut kinds: Vec<&String> = daemons.iter().flat_map(BTreeMap::keys).collect();
            kinds.sort();
            kinds.dedup();
            kinds.into_iter().cloned().collect()
        };
        let (message, fix) = match most {
            None => (
                format!(
                    "service {} reserves the generic resource {kind}, but daemon.json offers {}; its tasks \
                     stay pending",
                    service.name,
                    all.join(", ")
                ),
                format!("Write `kind: {}`, in the same case as in daemon.json", all.first()?),
            ),
            Some(most) if value.is_some_and(|value| value > *most) => (
                format!(
                    "service {} reserves {} of the generic resource {kind} for each task, but no daemon.json \
                     offers more than {most}; its tasks stay pending",
                    service.name, value?
                ),
                format!("Reserve {most} at most, or list all of them in daemon.json"),
            ),
            Some(_) => return None,
        };
        Some(Found::warning(service.line_of("deploy"), message, fix))
    })
}
