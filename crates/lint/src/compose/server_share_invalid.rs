//! A share of the GPU's memory that vLLM does not take.

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};
use crate::workers::{share_above_one, share_message};

pub(crate) const RULE: Rule = Rule {
    id: "server-share-invalid",
    severity: Severity::Error,
    summary: "vLLM gets its share of the GPU's memory as a fraction of 1",
    explain: include_str!("server_share_invalid.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    gpus: all\n    command: --model m/n \
             --gpu-memory-utilization 90\n",
        ),
        named(
            "serve.sh",
            "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m/n --gpu-memory-utilization=95\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    gpus: all\n    command: --model m/n \
             --gpu-memory-utilization 0.9\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    gpus: all\n    command: --model m/n \
             --gpu-memory-utilization $SHARE\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(fault).collect()
}

fn fault(service: &Service) -> Option<Found> {
    let (message, fix) = share_message(&share_above_one(&service.command())?);
    Some(Found::error(service.line_of("command"), format!("{}: {message}", service.title), fix))
}
