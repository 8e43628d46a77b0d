//! Labels of Kubernetes nodes that name their GPU.

use catalog::Catalog;
use catalog::gpus::Gpu;

use crate::read::compose::{below, text};
use crate::read::manifest::{Pod, labels, list, scalar};

/// Families of instances of EC2 with older GPUs, and these.
const INSTANCES: &[(&str, &str)] = &[("p3.", "v100"), ("p3dn.", "v100"), ("g4dn.", "t4")];

/// Labels of nodes with the name of their GPU.
const LABELS: &[&str] = &[
    "cloud.google.com/gke-accelerator",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "nvidia.com/gpu.product",
];

/// Labels that the nodes of a pod must have, with one of the values each.
pub(crate) fn selected(pod: &Pod) -> Vec<(String, String)> {
    let known = |key: &str| LABELS.contains(&key) || key == "node.kubernetes.io/instance-type";
    let plain = labels(below(pod.spec, &["nodeSelector"])).into_iter().filter(|(key, _)| known(key));
    let mut found: Vec<(String, String)> = plain.collect();
    let required = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = below(pod.spec, &required).map_or_else(Vec::new, |one| list(one, "nodeSelectorTerms"));
    for expression in terms.into_iter().flat_map(|term| list(term, "matchExpressions")) {
        let key = scalar(expression, &["key"]).unwrap_or_default();
        if known(&key) && scalar(expression, &["operator"]).as_deref() == Some("In") {
            let values = list(expression, "values").into_iter().filter_map(text);
            found.extend(values.map(|value| (key.clone(), value)));
        }
    }
    found
}

/// The GPU of nodes with a label.
pub(crate) fn gpu_of_label(catalog: &'static Catalog, key: &str, value: &str) -> Option<&'static Gpu> {
    let alias = match key {
        "node.kubernetes.io/instance-type" => {
            let family = INSTANCES.iter().find(|(start, _)| value.starts_with(start))?;
            family.1.to_owned()
        }
        _ => {
            let lower = value.to_ascii_lowercase();
            let bare = lower.strip_prefix("nvidia-").unwrap_or(&lower);
            bare.strip_prefix("tesla-").unwrap_or(bare).to_owned()
        }
    };
    let name = alias.replace('-', " ");
    catalog.gpus().by_alias(&alias).or_else(|| catalog.gpus().by_name(&name.to_ascii_uppercase()))
}
