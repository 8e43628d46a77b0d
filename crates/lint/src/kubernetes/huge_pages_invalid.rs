//! Huge pages that the API server or the kubelet refuses.

use super::extended_resource_invalid::equal;
use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "huge-pages-invalid",
    severity: Severity::Error,
    summary: "huge pages have equal requests and limits, and cpu or memory next to them",
    explain: include_str!("huge_pages_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {nvidia.com/gpu: 1, hugepages-2Mi: 2Gi}"),
        pod!("limits: {memory: 8Gi, hugepages-2Mi: 2Gi}\n        requests: {hugepages-2Mi: 1Gi}"),
        pod!("requests: {memory: 8Gi, hugepages-1Gi: 2Gi}"),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      resources:\n        limits: {memory: 8Gi}\n      volumeMounts: [{name: h, \
             mountPath: /hugepages}]\n  volumes:\n    - name: h\n      emptyDir: {medium: HugePages}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers:\n        - name: a\n          image: b\n          \
             resources:\n            limits:\n              memory: 8Gi\n              hugepages-1Gi: 4Gi\n\
             \x20     volumes:\n        - name: h\n          emptyDir:\n            medium: HugePages-2Mi\n",
        ),
    ],
    silent: &[
        pod!("limits: {nvidia.com/gpu: 1, memory: 8Gi, hugepages-2Mi: 2Gi}"),
        pod!(
            "requests: {cpu: 4, hugepages-2Mi: 2048Mi}\n        limits: {nvidia.com/gpu: 1, hugepages-2Mi: \
             2Gi}"
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  resources: {limits: {memory: 8Gi, \
             hugepages-2Mi: 2Gi}}\n  containers:\n    - name: a\n      image: b\n      resources:\n        \
             limits: {hugepages-2Mi: 2Gi}\n  volumes:\n    - name: h\n      emptyDir: {medium: \
             HugePages-2Mi}\n",
        ),
    ],
};

const PREFIX: &str = "hugepages-";

fn judge(file: &Manifest) -> Vec<Found> {
    let mut found = file.of_containers(of_container);
    found.extend(file.pods().iter().flat_map(of_volumes));
    found
}

fn of_container(container: &Container) -> Vec<Found> {
    let (limits, requests) = (container.resources("limits"), container.resources("requests"));
    let own = container.name.as_str();
    let is_huge = |one: &&(String, String)| one.0.starts_with(PREFIX);
    let line = |kind: &str, name: &str| container.line(&["resources", kind, name]);
    let mut found = Vec::new();
    for (name, value) in requests.iter().filter(is_huge) {
        let message = match limits.iter().find(|(limit, _)| limit == name) {
            Some((_, limit)) if equal(limit, value) => continue,
            Some((_, limit)) => format!(
                "container {own}: {name} has request {value} and limit {limit}; the API server requires \
                 equal values"
            ),
            None => format!(
                "container {own}: {name} is only under requests; the API server requires an equal limit"
            ),
        };
        let fix = format!("Set `limits: {{{name}: {value}}}`");
        found.push(Found::error(line("requests", name), message, fix));
    }
    let mut all =
        limits.iter().map(|one| ("limits", one)).chain(requests.iter().map(|one| ("requests", one)));
    let has_compute = all.clone().any(|(_, (name, _))| matches!(name.as_str(), "cpu" | "memory"));
    // Resources of the whole pod count too.
    if has_compute || below(container.pod.spec, &["resources"]).is_some() {
        return found;
    }
    let first = all.find(|(_, one)| is_huge(one)).map(|(kind, (name, _))| (kind, name));
    found.extend(first.map(|(kind, name)| {
        let message = format!(
            "container {own} has {name} but neither cpu nor memory; the API server refuses the pod \
             (`HugePages require cpu or memory`) unless a LimitRange of the namespace sets a default"
        );
        let fix = "Add `memory` or `cpu` to its limits";
        Found::warning(line(kind, name), message, fix)
    }));
    found
}

/// Volumes of huge pages that no container requests.
fn of_volumes(pod: &Pod) -> Vec<Found> {
    let mut sizes: Vec<String> = Vec::new();
    for container in pod.containers() {
        let all = container.resources("limits").into_iter().chain(container.resources("requests"));
        sizes.extend(all.filter_map(|(name, _)| name.strip_prefix(PREFIX).map(str::to_owned)));
    }
    sizes.sort();
    sizes.dedup();
    let of_pod = below(pod.spec, &["resources"]).is_some();
    let mut found = Vec::new();
    for (at, name, volume) in pod.volumes() {
        let medium = scalar(volume, &["emptyDir", "medium"]).unwrap_or_default();
        let Some(size) = medium.strip_prefix("HugePages").filter(|_| !of_pod) else { continue };
        let fits = match size.strip_prefix('-') {
            Some(size) => sizes.iter().any(|known| equal(known, size)),
            None => sizes.len() == 1,
        };
        if fits {
            continue;
        }
        let requested = match sizes.is_empty() {
            true => "no container requests huge pages".to_owned(),
            false => format!("the containers request huge pages of {}", sizes.join(" and ")),
        };
        let message = format!(
            "volume {name} has medium {medium}, but {requested}; the kubelet cannot mount it and the pod \
             does not start"
        );
        let line = pod.line(&["volumes", &at.to_string(), "emptyDir", "medium"]);
        let fix = "Use `HugePages-SIZE` with the size of a `hugepages-SIZE` resource of a container";
        found.push(Found::error(line, message, fix));
    }
    found
}
