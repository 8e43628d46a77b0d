//! A container that needs GPUs and gets none, or more than it was given.

use crate::programs;
use crate::read::manifest::{Container, Manifest, Pod, is_gpu, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named_with};
use crate::workers;
use catalog::Catalog;

pub(crate) const RULE: Rule = Rule {
    id: "pod-gpu-missing",
    severity: Severity::Warning,
    summary: "containers that need GPUs request them, and use those that they get",
    explain: include_str!("pod_gpu_missing.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {memory: 64Gi}\n      command: [torchrun, --nproc_per_node=8, train.py]"),
        pod!("limits: {nvidia.com/gpu: 1}\n      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"),
        pod!("limits: {nvidia.com/gpu: 2}\n      env: [{name: CUDA_VISIBLE_DEVICES, value: \"2,3\"}]"),
    ],
    silent: &[
        named_with(
            "base/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec:\n  selector: {matchLabels: \
             {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: \
             vllm, \
             image: \"vllm/vllm-openai:v0.5.4\"}]\n",
            &[(
                "base/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: \
                 [deployment.yaml]\n",
            )],
        ),
        pod!("limits: {cpu: 4}\n      command: [sh, -c, python bench.py --num_gpus=1 --device=cpu]"),
        pod!("limits: {nvidia.com/gpu: 8}\n      command: [torchrun, --nproc_per_node=8, train.py]"),
        pod!("claims: [{name: gpu}]\n      command: [torchrun, --nproc_per_node=8, train.py]"),
        pod!("limits: {nvidia.com/gpu: 2}\n      env: [{name: CUDA_VISIBLE_DEVICES, value: \"1,0\"}]"),
        pod!("limits: {memory: 1Gi}\n      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| -> Vec<Found> {
        let containers = pod.containers();
        let any = containers.iter().any(has_device) || !list(pod.spec, "resourceClaims").is_empty();
        let mut found: Vec<Found> = containers.iter().filter_map(bypassed).collect();
        found.extend(containers.iter().filter_map(out_of_range));
        if !any && !pod.document.kustomized {
            let own = containers.iter().filter(|one| !one.init);
            found.extend(own.filter_map(|one| missing(file.catalog, one)));
        }
        found
    };
    file.pods().iter().flat_map(of_pod).collect()
}

/// Whether it requests a device of any kind.
fn has_device(container: &Container) -> bool {
    let resources = [container.resources("limits"), container.resources("requests")].concat();
    resources.iter().any(|(name, _)| name.contains('/') || name.to_ascii_lowercase().contains("gpu"))
        || crate::read::compose::below(container.value, &["resources", "claims"]).is_some()
}

fn missing(catalog: &Catalog, container: &Container) -> Option<Found> {
    let environment = container.environment();
    let set = |name: &str| environment.iter().any(|(known, _)| known == name);
    // Exporters and plugins see all GPUs through the runtime.
    let privileged = scalar(container.value, &["securityContext", "privileged"]).as_deref() == Some("true");
    if set("NVIDIA_VISIBLE_DEVICES") || set("CUDA_VISIBLE_DEVICES") || privileged {
        return None;
    }
    let command = container.words().join(" ");
    let image = scalar(container.value, &["image"]).unwrap_or_default();
    // On the CPU an option for processes or GPUs asks for none.
    if ["--device=cpu", "--device cpu", "gloo"].iter().any(|word| command.contains(word)) {
        return None;
    }
    let why = match workers::needs(&command) {
        Some(needs) => format!("its command has {}", needs.option),
        None if command.starts_with("mpirun") || command.contains("--use-cpu") => return None,
        None if programs::launches(&command) || command.starts_with("nvidia-smi") => {
            format!("its command runs {}", container.words().first()?)
        }
        None if catalog.gpu_images().has(&image) && serves(&image) => {
            format!("its image {image} is built for GPUs")
        }
        None => return None,
    };
    let message = format!("container {} requests no GPU, but {why}", container.name);
    Some(Found::warning(container.line(&[]), message, "Set `resources.limits: {nvidia.com/gpu: 1}`"))
}

/// Images that start a server on a GPU; others are also a base for tools.
fn serves(image: &str) -> bool {
    ["vllm", "sglang", "text-generation-inference"].iter().any(|name| image.contains(name))
}

/// The variable makes the runtime add every GPU of the node, whatever was allocated, unless the device plugin
/// passes the list of devices in another way than its default (`deviceListStrategy: envvar`).
fn bypassed(container: &Container) -> Option<Found> {
    let limits = container.resources("limits");
    limits.iter().find(|(name, _)| is_gpu(name))?;
    let environment = container.environment();
    environment.iter().find(|(name, value)| name == "NVIDIA_VISIBLE_DEVICES" && value == "all")?;
    let message = format!(
        "container {} sets NVIDIA_VISIBLE_DEVICES=all, which gives it every GPU of the node, not those \
            allocated, with the device plugin's default strategy envvar",
        container.name
    );
    Some(Found::warning(
        container.line(&["env"]),
        message,
        "Remove the variable; the device plugin sets \
        it",
    ))
}

/// Indices count the GPUs of the container from 0.
fn out_of_range(container: &Container) -> Option<Found> {
    let gpus = container.gpus().filter(|gpus| *gpus > 0)?;
    let environment = container.environment();
    let (_, value) = environment.iter().find(|(name, _)| name == "CUDA_VISIBLE_DEVICES")?;
    let largest = value.split(',').map(|one| one.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    let largest = largest.into_iter().max()?;
    let message = format!(
        "container {} sets CUDA_VISIBLE_DEVICES={value}, but its {gpus} GPUs have the indices 0 to {}",
        container.name,
        gpus - 1
    );
    (largest >= gpus).then(|| Found::warning(container.line(&["env"]), message, "Remove the variable"))
}
