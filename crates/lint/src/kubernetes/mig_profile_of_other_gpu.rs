//! A MIG profile that the GPU of the selected nodes does not have.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, labels};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "mig-profile-of-other-gpu",
    severity: Severity::Warning,
    summary: "the GPU of the selected nodes has the MIG profile that is requested",
    explain: include_str!("mig_profile_of_other_gpu.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {nvidia.com/gpu.product: \
             NVIDIA-H100-80GB-HBM3}\n  containers:\n    - {name: a, image: b, resources: {limits: \
             {nvidia.com/mig-1g.5gb: 1}}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: \
             {cloud.google.com/gke-accelerator: nvidia-h100-80gb}\n  containers:\n    - {name: a, image: b, \
             resources: {limits: {nvidia.com/mig-3g.20gb: 1}}}\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {nvidia.com/gpu.product: \
             NVIDIA-H100-80GB-HBM3}\n  containers:\n    - {name: a, image: b, resources: {limits: \
             {nvidia.com/mig-1g.10gb: 1, nvidia.com/mig-1g.20gb: 1, nvidia.com/mig-4g.40gb: 1}}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {pool: \
             gpu}\n  containers:\n    \
             - {name: a, image: b, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}\n",
        ),
    ],
};

/// GPUs by a part of the label of their nodes, in small letters, and the memory of profiles with one, two and
/// three slices.
const GPUS: &[(&[&str], [u32; 3])] = &[
    (&["h100-80gb", "h800-80gb", "a100-sxm4-80gb", "a100-80gb", "a800-80gb", "h100-pcie"], [10, 20, 40]),
    (&["a100-sxm4-40gb", "a100-pcie-40gb", "tesla-a100"], [5, 10, 20]),
    (&["h200"], [18, 35, 71]),
    (&["b200"], [23, 45, 90]),
    (&["a30"], [6, 12, 0]),
];

/// Labels with the name of the GPU.
const LABELS: &[&str] =
    &["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"];

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let selector = labels(below(container.pod.spec, &["nodeSelector"]));
    let (_, product) = selector.iter().find(|(key, _)| LABELS.contains(&key.as_str()))?;
    let lower = product.to_ascii_lowercase();
    // GB200 and GH200 have profiles of their own, and so has a node that is already split.
    if lower.contains("gb200") || lower.contains("gh200") || lower.contains("mig") {
        return None;
    }
    let (_, sizes) = GPUS.iter().find(|(names, _)| names.iter().any(|name| lower.contains(name)))?;
    let limits = container.resources("limits");
    limits.iter().find_map(|(name, _)| {
        let profile = name.strip_prefix("nvidia.com/mig-")?;
        let (slices, rest) = profile.split_once("g.")?;
        let memory: u32 = rest.split("gb").next()?.parse().ok()?;
        let [one, two, three] = *sizes;
        let fits = match slices {
            "1" => memory == one || memory == two,
            "2" => memory == two,
            "3" | "4" => memory == three || three == 0,
            "7" => memory.abs_diff(2 * three) <= 2,
            _ => true,
        };
        let message = format!(
            "nodes with {product} have no profile {profile} (one slice of this GPU has {one} GB); the pod of \
             container {} stays Pending",
            container.name
        );
        let line = container.line(&["resources", "limits", name]);
        let fix = format!("Request a profile of this GPU, such as nvidia.com/mig-1g.{one}gb");
        (!fits).then(|| Found::warning(line, message, fix))
    })
}
