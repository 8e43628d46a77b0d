//! A device request whose driver capabilities leave out CUDA.

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::programs;
use crate::read::compose::{Compose, IsStack, Service, bare, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "gpu-request-without-compute",
    severity: Severity::Error,
    summary: "device requests that name driver capabilities name compute",
    explain: include_str!("gpu_request_without_compute.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: --model \
             org/model\n    deploy:\n      resources:\n        reservations:\n          devices:\n \
             \x20          - driver: nvidia\n              count: all\n              \
             capabilities: [gpu, utility]\n",
        ),
        compose(
            "services:\n  train:\n    image: example.net/train:4\n    gpus: [{driver: nvidia, count: 2, \
             capabilities: [utility]}]\n    command: torchrun --standalone --nproc_per_node=2 t.py\n",
        ),
        compose(
            "services:\n  notebook:\n    image: nvcr.io/nvidia/pytorch:24.10-py3\n    deploy: {resources: \
             {reservations: {devices: [{device_ids: [\"0\"], capabilities: [gpu, nvidia, utility, \
             video]}]}}}\n",
        ),
        named(
            "run.sh",
            "docker run --rm --ipc=host --gpus '\"device=0,1\",\"capabilities=utility\"' \
             vllm/vllm-openai:v0.8.5 --model org/model\n",
        ),
        named(
            "run.sh",
            "docker run --rm --ipc=host --gpus 'all,capabilities=utility' my/train torchrun --standalone \
             t.py\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: --model org/model\n    \
             gpus: [{count: all, capabilities: [gpu, compute, utility]}]\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: --model org/model\n    \
             deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu, \
             nvidia]}]}}}\n",
        ),
        // NVML and the video decoder need no more.
        compose(
            "services:\n  metrics:\n    image: nvcr.io/nvidia/k8s/dcgm-exporter:3.3.5\n    deploy: \
             {resources: {reservations: {devices: [{count: all, capabilities: [gpu, utility]}]}}}\n  \
             look:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    command: nvidia-smi -l 30\n    \
             gpus: [{count: all, capabilities: [utility]}]\n  transcode:\n    image: \
             nvidia/cuda:12.4.1-base-ubuntu22.04\n    command: ./transcode.sh\n    gpus: [{count: 1, \
             capabilities: [gpu, video, utility]}]\n",
        ),
        named(
            "run.sh",
            "docker run --rm --gpus 'all,capabilities=utility' nvidia/cuda:12.4.1-base-ubuntu22.04 \
             nvidia-smi\ndocker run --ipc=host --gpus 'all,\"capabilities=compute,utility\"' \
             vllm/vllm-openai:v0.8.5 --model a/b\n",
        ),
    ],
};

/// The capabilities of the driver that docker puts into NVIDIA_DRIVER_CAPABILITIES, but for `compute`.
const OTHERS: &[&str] = &["compat32", "graphics", "utility", "video", "display"];

fn judge(file: &Compose) -> Vec<Found> {
    let own = file.services.iter().filter(|one| !one.extends_elsewhere && file.stack == IsStack::No);
    own.filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let names = left_out(service)?;
    let (who, certain) = computes(file, service, &names)?;
    let names = names.join(",");
    let message = format!(
        "{} requests driver capabilities {names} without compute; Docker overrides \
         NVIDIA_DRIVER_CAPABILITIES with them, so the container has no libcuda and {who} finds no GPU",
        service.title
    );
    let fix = match file.run {
        true => "Leave out `capabilities=`, or add compute to it",
        false => "Write `capabilities: [gpu]`, or add `compute` to the list",
    };
    let in_list = service.at(&["gpus"]).is_some();
    let devices = ["services", &service.name, "deploy", "resources", "reservations", "devices"];
    let line = if in_list { service.line_of("gpus") } else { file.line(&devices) };
    Some(Found::error(line, message, fix).unless_certain(certain).about("NVIDIA_DRIVER_CAPABILITIES"))
}

/// The driver's capabilities that a service requests, where they leave out `compute`.
fn left_out(service: &Service) -> Option<Vec<String>> {
    let mut requests = service.requests();
    if let Some(Value::Sequence(items)) = service.at(&["gpus"]) {
        requests.extend(items.iter().map(bare));
    }
    let lists: Vec<Vec<String>> = requests.into_iter().map(capabilities).collect::<Option<_>>()?;
    let known = |name: &String| OTHERS.contains(&name.as_str()) || matches!(name.as_str(), "gpu" | "nvidia");
    // Other words, compute among them.
    if !lists.iter().flatten().all(known) {
        return None;
    }
    let mut names: Vec<String> = lists.into_iter().flatten().collect();
    let mut known = BTreeSet::new();
    names.retain(|name| OTHERS.contains(&name.as_str()) && known.insert(name.clone()));
    (!names.is_empty()).then_some(names)
}

fn capabilities(request: &Value) -> Option<Vec<String>> {
    match below(request, &["capabilities"]) {
        Some(Value::Sequence(items)) => items.iter().map(text).collect(),
        _ => None,
    }
}

/// What computes in the container, and whether it certainly cannot do without a GPU.
fn computes(file: &Compose, service: &Service, names: &[String]) -> Option<(String, bool)> {
    const TOOLS: &[&str] = &["smi", "exporter", "dcgm", "ffmpeg", "nvtop", "nvitop", "gpustat", "monitor"];
    if let Some(server) = of_service(file, service).filter(|one| one.loads_model) {
        return Some((server.name.to_owned(), server.name != "ollama"));
    }
    let command = file.started_words(service).join(" ");
    let image = match file.built(service) {
        Some(built) => built.base(built.stages.last()?)?.text.clone(),
        None if service.at(&["build"]).is_some() => return None,
        None => service.text("image")?,
    };
    if TOOLS.iter().any(|tool| command.contains(tool) || image.contains(tool)) {
        return None;
    }
    if programs::launches(&command) {
        return Some(("the training".to_owned(), false));
    }
    // What renders or decodes may be in an image of CUDA, too.
    let renders = image.contains("nvidia/cuda") && names.iter().any(|name| name != "utility");
    let made_for_gpus = file.catalog.gpu_images().has(&image) && !image.ends_with("-sdk") && !renders;
    made_for_gpus.then(|| ("its program".to_owned(), false))
}
