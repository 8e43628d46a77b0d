//! A command for more GPUs, or other GPUs, than its service gets.

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};
use crate::workers;

pub(crate) const RULE: Rule = Rule {
    id: "gpu-count-too-small",
    severity: Severity::Error,
    summary: "a service gets the GPUs that its command and environment use",
    explain: include_str!("gpu_count_too_small.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    command: --model m \
             --tensor-parallel-size 4\n    gpus: [{count: 2, capabilities: [gpu]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    shm_size: 8gb\n    command: torchrun --nproc_per_node=4 \
                t.py\n    \
             gpus: [{device_ids: [\"0\", \"1\"], capabilities: [gpu]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    environment: {CUDA_VISIBLE_DEVICES: \"2,3\"}\n    gpus: \
             [{device_ids: [\"2\", \"3\"], capabilities: [gpu]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    command: --model m \
             --tensor-parallel-size 4 --distributed-executor-backend mp\n    gpus: [{count: 2, \
             capabilities: [gpu]}]\n",
        ),
        named(
            "run.sh",
            "docker run --gpus '\"device=0,1\"' --ipc=host vllm/vllm-openai:v0.6.3 --model a/b \
             --tensor-parallel-size 4\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run --gpus 2 --ipc=host vllm/vllm-openai:v0.6.3 --model a/b --tensor-parallel-size 2\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    shm_size: 8gb\n    command: torchrun --nproc_per_node=2 \
                t.py\n    \
             environment: [\"CUDA_VISIBLE_DEVICES=1,0\"]\n    gpus: [{count: 2, capabilities: [gpu]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    command: --model m \
             --tensor-parallel-size 4 --distributed-executor-backend ray\n    gpus: [{count: 2, \
             capabilities: [gpu]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    ipc: host\n    command: torchrun --nproc_per_node=8 \
                t.py\n    gpus: all\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let own = file.services.iter().filter(|one| !one.extends_elsewhere);
    own.flat_map(|one| needs(one).into_iter().chain(indices(one))).collect()
}

/// The number of GPUs of a service, where the file says it.
fn count(service: &Service) -> Option<u64> {
    service.gpus()?.count()
}

fn gpus(count: u64) -> String {
    if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

fn needs(service: &Service) -> Option<Found> {
    let count = count(service)?;
    let needs = workers::needs(&service.command()).filter(|needs| needs.gpus > count)?;
    let message = format!("{} gets {}, but its command has {}", service.title, gpus(count), needs.option);
    Some(Found::error(
        service.line_of("command"),
        message,
        format!("Request {}, or reduce the option", gpus(needs.gpus)),
    ))
}

/// A container counts its GPUs from 0, whatever their indices on the host.
fn indices(service: &Service) -> Option<Found> {
    let count = count(service)?;
    let environment = service.environment();
    let value = environment.get("CUDA_VISIBLE_DEVICES")?.as_deref()?;
    let numbers = value.split(',').map(|one| one.trim().trim_matches('"').parse::<u64>().ok());
    let largest = numbers.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let message = format!(
        "{} sets CUDA_VISIBLE_DEVICES={value}, but gets {}, which it sees with the indices from \
            0 to {}",
        service.title,
        gpus(count),
        count - 1
    );
    let fix = "Remove the variable, or count from 0";
    (largest >= count).then(|| Found::error(service.line_of("environment"), message, fix))
}
