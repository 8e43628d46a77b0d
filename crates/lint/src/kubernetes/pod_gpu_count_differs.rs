//! A command for more GPUs than its container gets.

use crate::read::manifest::{Container, Manifest, Pod};
use crate::rule::{Found, Judge, Rule, Severity};
use crate::workers;

pub(crate) const RULE: Rule = Rule {
    id: "pod-gpu-count-differs",
    severity: Severity::Error,
    summary: "a container gets as many GPUs as its command uses",
    explain: include_str!("pod_gpu_count_differs.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {nvidia.com/gpu: 4}\n      command: [torchrun, --nproc_per_node=8, train.py]"),
        pod!("limits: {nvidia.com/gpu: 2}\n      args: [\"--model=m\", \"--tensor-parallel-size=4\"]"),
        pod!("limits: {nvidia.com/gpu: 8}\n      command: [torchrun, --nproc_per_node=4, train.py]"),
    ],
    silent: &[
        pod!("limits: {nvidia.com/gpu: 4}\n      command: [torchrun, --nproc_per_node=4, train.py]"),
        pod!("limits: {nvidia.com/gpu: 4}\n      command: [torchrun, --nproc_per_node=gpu, train.py]"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| -> Vec<Found> {
        let containers = pod.containers();
        containers.iter().filter(|one| !one.init).filter_map(differs).collect()
    };
    file.pods().iter().flat_map(of_pod).collect()
}

fn differs(container: &Container) -> Option<Found> {
    let gpus = container.gpus().filter(|gpus| *gpus > 0)?;
    let command = container.words().join(" ");
    // The ranks are on the GPUs of several pods.
    let several = container.pod.document.kind == "LeaderWorkerSet"
        || container.pod.document.api.starts_with("ray.io/")
        || command
            .split_whitespace()
            .any(|word| word == "ray" || word.trim_start_matches('-').starts_with("nnodes"));
    if several {
        return None;
    }
    let needs = workers::needs(&command)?;
    let line = container.line(&["resources", "limits"]);
    let own = &container.name;
    if needs.gpus > gpus {
        let message = format!("container {own} gets {gpus} GPUs, but its command has {}", needs.option);
        return Some(Found::error(
            line,
            message,
            format!("Request {} GPUs, or reduce the option", needs.gpus),
        ));
    }
    let message =
        format!("container {own} gets {gpus} GPUs, but its command uses {}: {}", needs.gpus, needs.option);
    (needs.gpus < gpus).then(|| Found::note(line, message, "Request as many GPUs as the command uses"))
}
