//! A share of the GPU's memory that vLLM does not take, in a pod.

use crate::read::manifest::{Container, Manifest};
use crate::rule::{Found, Judge, Rule, Severity};
use crate::workers::{share_above_one, share_message};

pub(crate) const RULE: Rule = Rule {
    id: "container-server-share-invalid",
    severity: Severity::Error,
    summary: "vLLM in a pod gets its share of the GPU's memory as a fraction of 1",
    explain: include_str!("container_server_share_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {nvidia.com/gpu: 1}\n      args: [--model, m/n, --gpu-memory-utilization, \"90\"]"),
        pod!(
            "limits: {nvidia.com/gpu: 1}\n      command: [sh, -c, \"vllm serve m \
             --gpu-memory-utilization=85\"]"
        ),
    ],
    silent: &[
        pod!("limits: {nvidia.com/gpu: 1}\n      args: [--model, m/n, --gpu-memory-utilization, \"0.9\"]"),
        pod!("limits: {nvidia.com/gpu: 1}\n      args: [--model, m/n, --gpu-memory-utilization, $(SHARE)]"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let (message, fix) = share_message(&share_above_one(&container.words().join(" "))?);
    let key = ["args", "command"].into_iter().find(|key| {
        let words = crate::read::manifest::list(container.value, key);
        words.iter().filter_map(|word| word.as_str()).any(|word| word.contains("utilization"))
    });
    let line = container.line(&[key.unwrap_or("name")]);
    Some(Found::error(line, format!("container {}: {message}", container.name), fix))
}
