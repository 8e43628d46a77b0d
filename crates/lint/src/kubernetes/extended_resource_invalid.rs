//! GPUs and other extended resources that are requested in a way that Kubernetes refuses or ignores.

use diagnostic::Fix;

use super::pod_name_invalid::has_placeholder;
use super::quantity_invalid::amount;
use crate::read::manifest::{Container, Manifest, is_gpu};
use crate::rule::{Found, Judge, Rule, Severity};

use crate::schema::is_placeholder;

pub(crate) const RULE: Rule = Rule {
    id: "extended-resource-invalid",
    severity: Severity::Error,
    summary: "GPUs are requested by their name, as whole numbers, under limits",
    explain: include_str!("extended_resource_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("requests: {nvidia.com/gpu: 1}"),
        pod!("limits: {nvidia.com/gpu: 0.5}"),
        pod!("limits: {nvidia.com/gpu: 500m}"),
        pod!("limits: {nvidia.com/gpu: -1}"),
        pod!("limits: {nvidia.com/gpu: 2}\n        requests: {nvidia.com/gpu: 1}"),
        pod!("limits: {nvidia.com/gpus: 1}"),
        pod!("limits: {gpu: 1}"),
        pod!("limits: {nvidia.com/mig-1g.10g: 1}"),
    ],
    silent: &[
        pod!("limits: {FILLED_BY_OPERATOR: 1}"),
        pod!("limits: {nvidia.com/gpu: GPUS_PER_NODE}"),
        pod!("limits: {nvidia.com/gpu: 1, cpu: 500m, memory: 1Gi, rdma/hca: \"1\"}"),
        pod!("requests: {nvidia.com/gpu: \"8\"}\n        limits: {nvidia.com/gpu: \"8\"}"),
        pod!("limits: {nvidia.com/mig-1g.10gb: 1, hugepages-2Mi: 1Gi, ephemeral-storage: 10Gi}"),
        pod!("limits: {nvidia.com/gpu: 2000m}\n        requests: {nvidia.com/gpu: 2}"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(faults)
}

fn faults(container: &Container) -> Vec<Found> {
    let (limits, requests) = (container.resources("limits"), container.resources("requests"));
    let line = |kind: &str, name: &str| container.line(&["resources", kind, name]);
    let mut found = Vec::new();
    for (kind, resources) in [("limits", &limits), ("requests", &requests)] {
        for (name, value) in resources {
            let line = line(kind, name);
            found.extend(misspelled(name, line));
            if is_extended(name) {
                found.extend(count(name, value, line));
            }
        }
    }
    for (name, value) in requests.iter().filter(|(name, _)| is_extended(name)) {
        let (line, own) = (line("requests", name), container.name.as_str());
        match limits.iter().find(|(limit, _)| limit == name) {
            None => {
                let message = format!(
                    "container {own}: {name} is only under requests; an extended resource must be under \
                        limits"
                );
                found.push(Found::error(line, message, format!("Set `limits: {{{name}: {value}}}`")));
            }
            Some((_, limit)) if !equal(limit, value) => {
                let message = format!(
                    "container {own}: {name} has request {value} and limit {limit}; they must \
                        match"
                );
                found.push(Found::error(line, message, "Remove the request"));
            }
            Some(_) => {}
        }
    }
    found
}

/// Whether a device plugin or an administrator offers a resource.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/") && !name.contains(".kubernetes.io/")
}

/// Whether two quantities are the same amount: `1` and `1000m` are.
pub(super) fn equal(one: &str, other: &str) -> bool {
    match (amount(one), amount(other)) {
        (Some(one), Some(other)) => (one - other).abs() < EXACT,
        _ => one == other,
    }
}

/// Below what a difference of amounts comes from their representation: the smallest suffix is `n`.
const EXACT: f64 = 1e-10;

fn count(name: &str, value: &str, line: usize) -> Option<Found> {
    let whole = amount(value).is_some_and(|amount| (amount - amount.round()).abs() < EXACT && amount >= 0.0);
    if whole || is_placeholder(value) {
        return None;
    }
    let message = format!("{name}: {value} is not a whole number; the API server refuses it");
    let fix = match is_gpu(name) {
        true => "Request a whole GPU, or offer parts of it with MIG or time-slicing",
        false => "Write an integer",
    };
    Some(Found::error(line, message, fix))
}

/// Resources of Kubernetes itself that have no domain.
const NATIVE: &[&str] = &["cpu", "memory", "ephemeral-storage", "storage", "pods"];

/// A name under which nothing is offered.
fn misspelled(name: &str, line: usize) -> Option<Found> {
    if has_placeholder(name) {
        return None;
    }
    if !name.contains('/') {
        if NATIVE.contains(&name) || name.starts_with("hugepages-") {
            return None;
        }
        let near = match name.to_ascii_lowercase() {
            word if word.contains("gpu") || word.contains("nvidia") => "nvidia.com/gpu",
            _ => diagnostic::suggest::nearest(name, NATIVE.iter().copied()).unwrap_or("cpu"),
        };
        let message =
            format!("{name:?} is not a Kubernetes resource; only built-in resources have no domain");
        return Some(Found::error(line, message, format!("Write `{near}`")));
    }
    let lower = name.to_ascii_lowercase();
    let (domain, rest) = lower.split_once('/')?;
    let nvidia = domain != "nvidia.com" && domain.contains("nvidia") && rest.starts_with("gpu");
    let wrong = nvidia
        || (matches!(domain, "nvidia.com" | "amd.com") && matches!(rest, "gpus" | "gpu-count" | "cuda"))
        || (lower != *name && is_gpu(&lower));
    let mig = rest.strip_prefix("mig-").is_some_and(|profile| !is_profile(profile));
    if mig {
        let message =
            format!("{name} is not the name of a MIG resource; they are like nvidia.com/mig-1g.10gb");
        let fix = Fix::run("Write a name that the nodes offer; list them:", "kubectl describe nodes");
        return Some(Found::error(line, message, fix));
    }
    let message = format!("no device plugin offers {name}; the pod stays Pending");
    let vendor = if domain == "amd.com" { domain } else { "nvidia.com" };
    wrong.then(|| Found::error(line, message, format!("Write `{vendor}/gpu`")))
}

/// `1g.10gb`, `1g.10gb.me`, `2g.20gb`, `1c.3g.20gb`.
fn is_profile(profile: &str) -> bool {
    let mut parts = profile.split('.').skip_while(|part| part.ends_with('c'));
    let ends = |part: Option<&str>, end: &str| {
        part.and_then(|part| part.strip_suffix(end)).is_some_and(|number| number.parse::<u32>().is_ok())
    };
    ends(parts.next(), "g") && ends(parts.next(), "gb")
}
