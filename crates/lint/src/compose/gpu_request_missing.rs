//! A service that needs GPUs and asks for none.

use std::cell::LazyCell;

use serde_yaml::Value;

use super::merged_environment_lost::base;
use crate::comments::denies_of;
use crate::read::compose::{Compose, IsStack, Service, below};
use crate::recognize::base_name;
use crate::rule::{Example, Found, Judge, Rule, Severity, compose, composes, named, stack};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "gpu-request-missing",
    severity: Severity::Warning,
    summary: "services that need GPUs request them",
    explain: include_str!("gpu_request_missing.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "# nvidia isn't the default runtime of these nodes\nservices:\n  train:\n    build: .\n    \
             command: torchrun --nproc_per_node=4 train.py\n",
        ),
        named(
            "run.sh",
            "# not with nvidia as the default runtime\ndocker run -d -p 8000:8000 \
             vllm/vllm-openai:v0.8.5 --model a/b\n",
        ),
        compose("services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    command: nvidia-smi\n"),
        compose("services:\n  train:\n    build: .\n    command: torchrun --nproc_per_node=4 train.py\n"),
        compose("services:\n  a:\n    image: b\n    environment:\n      - NVIDIA_VISIBLE_DEVICES=all\n"),
        named(
            "run.sh",
            "docker run --rm --ipc=host my/train torchrun --standalone --nproc_per_node=2 t.py\n",
        ),
        named("run.sh", "docker run -d -p 8000:8000 vllm/vllm-openai:v0.8.5 --model a/b\n"),
        compose(
            "x-gpu: &gpu\n  image: a/b:1\n  deploy: {resources: {reservations: {devices: [{driver: nvidia, \
             count: \
             1, capabilities: [gpu]}]}}}\nservices:\n  a:\n    <<: *gpu\n    command: python d.py --device \
             cuda\n    deploy: {resources: {limits: {memory: 24g}}}\n",
        ),
    ],
    silent: &[
        compose(
            "# default runtime is nvidia, so no gpus key is needed\nservices:\n  train:\n    build: .\n    \
             command: torchrun --nproc_per_node=4 train.py\n",
        ),
        compose(
            "# No device request here. nvidia is the default runtime on all nodes\nservices:\n  train:\n    \
             build: .\n    command: torchrun --nproc_per_node=4 train.py\n",
        ),
        compose(
            "# no --gpus because the default runtime is nvidia\nservices:\n  train:\n    build: .\n    \
             command: torchrun --nproc_per_node=4 train.py\n",
        ),
        compose(
            "services:\n  train: # no gpus key: nvidia is the default runtime\n    build: .\n    command: \
             torchrun --nproc_per_node=4 train.py\n",
        ),
        stack(
            "services:\n  train:\n    image: example.org/train:1\n    command: torchrun --standalone \
             --nproc_per_node=8 t.py\n    environment: {NVIDIA_VISIBLE_DEVICES: all}\n",
        ),
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    command: \
                   nvidia-smi\n",
            companions: &[("daemon.json", "{\"default-runtime\": \"nvidia\"}\n")],
        },
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    command: \
                   nvidia-smi\n",
            companions: &[("daemon.json", "{\n  \"default-runtime\": \"nvidia\",\n}\n")],
        },
        named(
            "run.sh",
            "# the nodes have nvidia as the default runtime\ndocker run -d -p 8000:8000 \
             vllm/vllm-openai:v0.8.5 --model a/b\n",
        ),
        named(
            "run.sh",
            "docker run --rm nvidia/cuda:12.4.1-base-ubuntu22.04 nvcc --version\ndocker run \"${opts[@]}\" \
             my/train \
             torchrun train.py\n",
        ),
        composes(
            "services:\n  a:\n    image: vllm/vllm-openai:latest\n",
            &[("compose.override.yaml", "services:\n  a:\n    gpus: all\n")],
        ),
        compose("services:\n  a:\n    image: vllm/vllm-openai:latest\n    gpus: all\n"),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:latest\n    deploy:\n      resources:\n        \
             reservations:\n          devices:\n            - driver: cdi\n              device_ids: \
             [\"nvidia.com/gpu=all\"]\n              capabilities: [gpu]\n",
        ),
        compose("services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    runtime: nvidia\n"),
        compose(
            "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    devices: \
             [nvidia.com/gpu=all]\n",
        ),
        stack(
            "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    deploy: \
             {resources: {reservations: {generic_resources: [\
             {discrete_resource_spec: {kind: gpu, value: 1}}]}}}\n",
        ),
        compose(
            "services:\n  a:\n    image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n    extends: \
             {file: gpu.yaml, service: gpu}\n",
        ),
        compose(
            "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    environment: \
             [NVIDIA_VISIBLE_DEVICES=]\n",
        ),
        compose("services:\n  web:\n    image: nginx\n    environment: {CUDA_VISIBLE_DEVICES: \"\"}\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let needs = |service: &&Service| service.gpus().is_none() && !service.extends_elsewhere;
    let by_default = LazyCell::new(|| nvidia_by_default(file));
    file.services
        .iter()
        .filter(needs)
        .filter_map(|service| {
            let why = service.needs_gpus(file.catalog)?;
            // The runtime of NVIDIA hands out the GPUs that the variable names; stacks cannot ask for it.
            if *by_default || file.stack != IsStack::No && service.names_devices() {
                return None;
            }
            let lost = file.unmerged().is_some_and(|root| is_lost(root, service));
            let message = match lost {
                true => format!(
                    "{} requests no GPU, but {why}: its own `deploy` replaces that of the merged anchor \
                     (`<<` \
                     is shallow), which requests them",
                    service.title
                ),
                false => format!("{} requests no GPU, but {why}", service.title),
            };
            // Somebody may only look into an image of a framework.
            if file.run && (!is_gpu_work(file, service) || service.command().contains("--gpus")) {
                return None;
            }
            if lost {
                let fix = "Repeat `reservations.devices` in its own `deploy`, or merge that of the anchor \
                 there";
                return Some(Found::warning(service.line_of("deploy"), message, fix));
            }
            let fix = match file.stack {
                _ if file.run => "Add `--gpus all`",
                IsStack::No => {
                    "Add `gpus: all`, or `deploy.resources.reservations.devices` with \
                     `capabilities: [gpu]`"
                }
                _ => {
                    "Add `deploy.resources.reservations.generic_resources`, and list the GPUs in daemon.json"
                }
            };
            Some(Found::warning(service.line.clone(), message, fix))
        })
        .collect()
}

/// Whether every container has the runtime of NVIDIA: the daemon's configuration next to the file says so, or
/// a comment.
fn nvidia_by_default(file: &Compose) -> bool {
    let mut daemons = file.files.iter().filter(|(name, _)| base_name(name) == "daemon.json");
    let configured = daemons.any(|(_, text)| {
        let Some(text) = text.as_deref() else { return false };
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(root) => root.get("default-runtime").is_some_and(|one| one == "nvidia"),
            // Its fault is found elsewhere; what is meant is clear.
            Err(_) => {
                let bare: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
                bare.contains("\"default-runtime\":\"nvidia\"")
            }
        }
    });
    let ends = [" - ", " because ", " so ", " since "];
    let mut comments = file.comments.iter().map(|text| {
        ends.iter().fold(text.to_ascii_lowercase(), |text, end| text.replace(end, ";")).replace('-', " ")
    });
    // `no gpus key: nvidia is the default runtime`
    let says_it = |text: &str| {
        let mut clauses = text.split([':', ';', ',', '.', '(', ')']);
        let denied = |part: &str| denies_of(part, &["nvidia", "default"]);
        text.contains("nvidia") && clauses.any(|part| part.contains("default runtime") && !denied(part))
    };
    configured || comments.any(|text| says_it(&text))
}

/// Whether the anchor that a service merges requests GPUs in a `deploy` that its own one replaces.
fn is_lost(root: &Value, service: &Service) -> bool {
    let Some(raw) = below(root, &["services", &service.name]) else { return false };
    let devices = ["deploy", "resources", "reservations", "devices"];
    below(raw, &["deploy"]).is_some() && base(raw).is_some_and(|base| below(&base, &devices).is_some())
}

/// Whether a container certainly works on GPUs: it trains, or serves a large model.
fn is_gpu_work(file: &Compose, service: &Service) -> bool {
    let command = service.command();
    let mut words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    words.any(|word| matches!(word, "torchrun" | "deepspeed" | "nvidia-smi"))
        || of_service(file, service).is_some_and(|server| server.loads_model && server.name != "ollama")
}
