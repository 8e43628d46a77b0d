//! A container that must not run as root, and sets user 0 or has an image without another user.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::is_image;

macro_rules! secured {
    ($pod:literal, $container:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
                $pod,
                "  containers:\n    - name: a\n      image: b\n",
                $container
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "non-root-as-root",
    severity: Severity::Error,
    summary: "no container with runAsNonRoot has the user 0, by itself or by its image",
    explain: include_str!("non_root_as_root.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        secured!("  securityContext: {runAsNonRoot: true}\n", "      securityContext: {runAsUser: 0}\n"),
        secured!("", "      securityContext:\n        runAsNonRoot: true\n        runAsUser: 0\n"),
        named(
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: \
             {app: \
             a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      securityContext:\n        \
             runAsNonRoot: true\n        fsGroup: 2000\n      containers:\n        - name: \
             vllm\n          image: \
             vllm/vllm-openai:v0.7.3\n          securityContext: {allowPrivilegeEscalation: false}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n      command: [python, -c, \
             pass]\n      \
             securityContext: {runAsNonRoot: true}\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  securityContext: {runAsUser: 1000}\n  \
             containers:\n    - name: a\n      image: vllm/vllm-openai:v0.7.3\n      securityContext: \
             {runAsNonRoot: true}\n    - name: b\n      image: example/vllm-openai:v0.7.3\n      \
             securityContext: {runAsNonRoot: true}\n",
        ),
        secured!(
            "  securityContext: {runAsNonRoot: true, runAsUser: 0}\n",
            "      securityContext: {runAsUser: 1000}\n"
        ),
        secured!(
            "  securityContext: {runAsNonRoot: true}\n",
            "      securityContext: {runAsNonRoot: false, runAsUser: 0}\n"
        ),
        secured!("  securityContext: {runAsNonRoot: true}\n", ""),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    // The container's own value counts before the pod's.
    let of = |key: &str| {
        let path = ["securityContext", key];
        scalar(container.value, &path).or_else(|| scalar(container.pod.spec, &path))
    };
    if of("runAsNonRoot").as_deref() != Some("true") {
        return None;
    }
    match of("runAsUser").as_deref() {
        Some("0") => {}
        Some(_) => return None,
        None => return image_of_root(container),
    }
    let message = format!(
        "container {} has runAsNonRoot: true and runAsUser: 0; it does not start (`container's runAsUser \
         breaks \
         non-root policy`)",
        container.name
    );
    let own = below(container.value, &["securityContext", "runAsUser"]).is_some();
    let line = match own {
        true => container.line(&["securityContext", "runAsUser"]),
        false => container.pod.line(&["securityContext", "runAsUser"]),
    };
    Some(Found::error(line, message, "Set another runAsUser, or remove runAsNonRoot"))
}

/// Images whose Dockerfile sets no user: they run as root.
const OF_ROOT: &[&str] = &[
    "vllm/vllm-openai",
    "lmsysorg/sglang",
    "pytorch/pytorch",
    "ollama/ollama",
    "ghcr.io/huggingface/text-generation-inference",
    "python",
    "library/python",
];

/// A container whose image runs as root, where neither it nor its pod sets a user.
fn image_of_root(container: &Container) -> Option<Found> {
    let image = scalar(container.value, &["image"])?;
    let named = OF_ROOT.iter().find(|repository| is_image(&image, repository))?;
    // `vllm/vllm-openai:v0.20.0-nonroot`
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    if tag.contains("nonroot") || tag.contains("openshift") || tag.contains("ubi") {
        return None;
    }
    let message = format!(
        "container {} has runAsNonRoot: true and no runAsUser, but {named} runs as root; it does not start \
         (`container has runAsNonRoot and image will run as root`)",
        container.name
    );
    let own = below(container.value, &["securityContext", "runAsNonRoot"]).is_some();
    let line = match own {
        true => container.line(&["securityContext", "runAsNonRoot"]),
        false => container.pod.line(&["securityContext", "runAsNonRoot"]),
    };
    // A template adds what it lacks, and OpenShift gives each namespace users of its own.
    let certain = !container.pod.document.kustomized && !is_of_openshift(container);
    let fix = "Set runAsUser to a user of the image, for example 1000, and give it a writable HOME";
    Some(Found::error(line, message, fix).unless_certain(certain))
}

/// Whether a manifest is for OpenShift, which sets runAsUser where nothing else does.
fn is_of_openshift(container: &Container) -> bool {
    let metadata = container.pod.document.at(&["metadata"]);
    let text = metadata.and_then(|value| serde_yaml::to_string(value).ok()).unwrap_or_default();
    text.contains("openshift")
}
