//! An option of vLLM that the GPU of the selected nodes cannot run.

use std::str::FromStr;

use crate::node_labels::{gpu_of_label, selected};
use crate::read::manifest::{Container, Manifest, list};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::of_pod;
use catalog::gpus::Gpu;

pub(crate) const RULE: Rule = Rule {
    id: "gpu-too-old-for-option",
    severity: Severity::Error,
    summary: "the GPUs of the selected nodes can run the number format that vLLM gets",
    explain: include_str!("gpu_too_old_for_option.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: \
             {cloud.google.com/gke-accelerator: nvidia-tesla-v100}\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model=a/b, --dtype=bfloat16]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: \
             {node.kubernetes.io/instance-type: g4dn.xlarge}\n  containers:\n    - name: a\n      image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model, a/b, --dtype, bfloat16]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: \
             {cloud.google.com/gke-accelerator: nvidia-l4}\n  containers:\n    - name: a\n      image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model=a/b, --dtype=bfloat16]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: \
             {cloud.google.com/gke-accelerator: nvidia-tesla-t4}\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model=a/b, --dtype=half]\n",
        ),
    ],
};

/// The compute capability from which on vLLM takes bfloat16.
const BFLOAT16: (u32, u32) = (8, 0);

fn judge(file: &Manifest) -> Vec<Found> {
    let pods = file.pods();
    let mut found = Vec::new();
    for pod in &pods {
        let selected = selected(pod);
        let gpus: Option<Vec<(&String, &Gpu)>> = selected
            .iter()
            .map(|(key, value)| Some((value, gpu_of_label(file.catalog, key, value)?)))
            .collect();
        let Some(gpus) = gpus else { continue };
        for container in &pod.containers() {
            found.extend(fault(container, &gpus));
        }
    }
    found
}

fn fault(container: &Container, gpus: &[(&String, &Gpu)]) -> Option<Found> {
    let words = container.words();
    let given = words.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some(("--dtype", value)) => value == "bfloat16",
        _ => word == "--dtype" && words.get(at + 1).is_some_and(|value| value == "bfloat16"),
    });
    if !given || of_pod(container)?.name != "vLLM" {
        return None;
    }
    let old = |gpu: &Gpu| capability(gpu).is_some_and(|capability| capability < BFLOAT16);
    // Every GPU that the selector allows.
    let (label, gpu) = gpus.first().filter(|_| gpus.iter().all(|(_, gpu)| old(gpu)))?;
    let message = format!(
        "container {}: its nodes are those with {label}, a GPU of compute capability {}; vLLM with \
         --dtype bfloat16 \
         requires 8.0 and does not start",
        container.name, gpu.compute_capability
    );
    let key = if list(container.value, "args").is_empty() { "command" } else { "args" };
    let fix = "Use `--dtype half`, or select nodes with a newer GPU";
    Some(Found::error(container.line(&[key]), message, fix))
}

fn capability(gpu: &Gpu) -> Option<(u32, u32)> {
    let (major, minor) = gpu.compute_capability.split_once('.')?;
    Some((u32::from_str(major).ok()?, u32::from_str(minor).ok()?))
}
