//! A command for more GPUs than its container gets.

use crate::read::manifest::{Container, Document, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::workers::{self, Needs};

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
        named(
            "train.yaml",
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  \
             nprocPerNode: \"8\"\n  \
             pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n      template:\n        spec:\n          \
             containers:\n            - name: pytorch\n              image: b\n              command: \
             [torchrun, \
             train.py]\n              resources: {limits: {nvidia.com/gpu: 4}}\n",
        ),
        pod!(
            "limits: {nvidia.com/gpu: 4}\n      env: [{name: PET_NPROC_PER_NODE, value: \"8\"}]\n      \
                command: [torchrun, train.py]"
        ),
        named(
            "lws.yaml",
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec:\n  \
             replicas: \
             1\n  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n      spec:\n        \
             containers:\n          - \
             name: a\n            image: b\n            command: [sh, -c, \"vllm serve m \
             --tensor-parallel-size 8 \
             --pipeline-parallel-size 4\"]\n            resources: {limits: {nvidia.com/gpu: 8}}\n    \
             workerTemplate:\n      spec:\n        containers:\n          - name: a\n            image: \
             b\n            \
             resources: {limits: {nvidia.com/gpu: 8}}\n",
        ),
    ],
    silent: &[
        named(
            "train.yaml",
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  \
             nprocPerNode: \"8\"\n  \
             pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n      template:\n        spec:\n          \
             containers:\n            - name: pytorch\n              image: b\n              command: \
             [torchrun, \
             --nproc_per_node=4, train.py]\n              resources: {limits: {nvidia.com/gpu: 4}}\n",
        ),
        named(
            "lws.yaml",
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec:\n  \
             replicas: \
             1\n  leaderWorkerTemplate:\n    size: 4\n    leaderTemplate:\n      spec:\n        \
             containers:\n          - \
             name: a\n            image: b\n            command: [sh, -c, \"vllm serve m \
             --tensor-parallel-size 8 \
             --pipeline-parallel-size 4\"]\n            resources: {limits: {nvidia.com/gpu: 8}}\n    \
             workerTemplate:\n      spec:\n        containers:\n          - name: a\n            image: \
             b\n            \
             resources: {limits: {nvidia.com/gpu: 8}}\n",
        ),
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

/// More ranks than all pods of a group have GPUs.
fn of_group(document: &Document, container: &Container, gpus: u64) -> Option<Found> {
    let template = ["spec", "leaderWorkerTemplate"];
    let size = match document.at(&[&template[..], &["size"]].concat()) {
        Some(_) => scalar(&document.value, &["spec", "leaderWorkerTemplate", "size"])?.parse::<u64>().ok()?,
        None => 1,
    };
    let pods = document.pods();
    let same = pods.iter().all(|pod| {
        let mut counts = pod.containers().into_iter().filter(|one| !one.init).filter_map(|one| one.gpus());
        counts.next() == Some(gpus) && counts.next().is_none()
    });
    let command = container.words().join(" ");
    let needs = workers::needs(&command).filter(|_| same && !command.contains("data-parallel"))?;
    let all = gpus.checked_mul(size)?;
    let message = format!(
        "the group has {all} GPUs (size {size}, {gpus} in each pod), but the command of container {} has {}: \
         {} GPUs",
        container.name, needs.option, needs.gpus
    );
    let line = container.line(&["command"]);
    let fix = "Raise `size`, or reduce the parallel sizes";
    (needs.gpus > all).then(|| Found::error(line, message, fix))
}

/// The ranks that an operator or a variable gives to torchrun, with their line.
fn given(container: &Container, command: &str) -> Option<(Needs, usize)> {
    if !command.split_whitespace().any(|word| word.ends_with("torchrun") || word == "torch.distributed.run") {
        return None;
    }
    let document = container.pod.document;
    let environment = container.environment();
    let variable = environment.iter().find(|(name, _)| name == "PET_NPROC_PER_NODE");
    if let Some((name, value)) = variable {
        let gpus = value.parse().ok()?;
        return Some((Needs { option: format!("{name}={value}"), gpus }, container.line(&["env"])));
    }
    let value =
        scalar(&document.value, &["spec", "nprocPerNode"]).filter(|_| document.kind == "PyTorchJob")?;
    let needs = Needs { option: format!("nprocPerNode {value}"), gpus: value.parse().ok()? };
    Some((needs, document.line_of(&["spec", "nprocPerNode"])))
}

fn differs(container: &Container) -> Option<Found> {
    let gpus = container.gpus().filter(|gpus| *gpus > 0)?;
    let command = container.words().join(" ");
    let document = container.pod.document;
    if document.kind == "LeaderWorkerSet" {
        return of_group(document, container, gpus);
    }
    // The ranks are on the GPUs of several pods.
    let several = document.api.starts_with("ray.io/")
        || command
            .split_whitespace()
            .any(|word| word == "ray" || word.trim_start_matches('-').starts_with("nnodes"));
    if several {
        return None;
    }
    let line = container.line(&["resources", "limits"]);
    let (needs, line) = match workers::needs(&command) {
        Some(needs) => (needs, line),
        None => given(container, &command).filter(|(needs, _)| needs.gpus > gpus)?,
    };
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
