//! Pods ask for GPUs under a name that the device plugin no longer offers.

use crate::read::compose::text;
use crate::read::manifest::{Container, Document, Manifest};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: time-slicing}\ndata:\n  any: \
    |-\n    version: \
     v1\n    sharing:\n      timeSlicing:\n        renameByDefault: true\n        resources:\n          \
     - name: \
     nvidia.com/gpu\n            replicas: 4\n";

pub(crate) const RULE: Rule = Rule {
    id: "gpu-resource-renamed",
    severity: Severity::Warning,
    summary: "pods request shared GPUs under the name that the device plugin offers",
    explain: include_str!("gpu_resource_renamed.md"),
    judge: Judge::Manifest(judge),
    fires: &[named_with(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     resources:\n        limits:\n          nvidia.com/gpu: 1\n",
        &[("config.yaml", MAP)],
    )],
    silent: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             b\n      resources:\n        limits:\n          nvidia.com/gpu.shared: 1\n",
            &[("config.yaml", MAP)],
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             b\n      resources:\n        limits:\n          nvidia.com/gpu: 1\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let documents = file.documents.iter().chain(&file.others);
    let Some(map) = documents.into_iter().find(|one| renames(one)) else { return Vec::new() };
    file.of_containers(|container| fault(container, map))
}

/// Whether every configuration of a ConfigMap renames the resource of whole GPUs.
fn renames(document: &Document) -> bool {
    let data = document.at(&["data"]).and_then(serde_yaml::Value::as_mapping);
    let texts: Vec<String> = data.into_iter().flatten().filter_map(|(_, value)| text(value)).collect();
    let one = |text: &String| {
        text.contains("timeSlicing:")
            && text.contains("renameByDefault: true")
            && text.contains("nvidia.com/gpu")
    };
    document.kind == "ConfigMap" && !texts.is_empty() && texts.iter().all(one)
}

fn fault(container: &Container, map: &Document) -> Option<Found> {
    let limits = container.resources("limits");
    limits.iter().find(|(name, _)| name == "nvidia.com/gpu")?;
    let message = format!(
        "container {} requests nvidia.com/gpu, but the ConfigMap {} renames it to nvidia.com/gpu.shared; \
         the pod \
         stays Pending",
        container.name, map.name
    );
    let fix = "Request `nvidia.com/gpu.shared`, or set `renameByDefault: false`";
    Some(Found::warning(container.line(&["resources", "limits", "nvidia.com/gpu"]), message, fix))
}
