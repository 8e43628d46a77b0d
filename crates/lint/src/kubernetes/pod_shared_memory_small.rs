//! Several ranks of a pod with 64 MiB of shared memory.

use crate::programs;
use crate::read::manifest::{Container, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity};
use crate::workers;

use super::quantity_invalid::amount;
use super::volume_mount_invalid::has_shared_memory;

pub(crate) const RULE: Rule = Rule {
    id: "pod-shared-memory-small",
    severity: Severity::Warning,
    summary: "pods with several ranks have a memory-backed volume at /dev/shm",
    explain: include_str!("pod_shared_memory_small.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {nvidia.com/gpu: 4}\n      command: [torchrun, --nproc_per_node=4, train.py]"),
        pod!("limits: {nvidia.com/gpu: 2}\n      args: [\"--model=m\", \"--tensor-parallel-size=2\"]"),
        pod!("limits: {nvidia.com/gpu: 8}\n      command: [python, train.py]"),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          resources: {limits: \
                {nvidia.com/gpu: 2, memory: 8Gi}}\n          volumeMounts: [{name: x, mountPath: \
                /dev/shm}]\n      volumes: [{name: x, emptyDir: {medium: Memory, sizeLimit: 16Gi}}]\n"
        ),
    ],
    silent: &[
        pod!("limits: {nvidia.com/gpu: 1}\n      command: [torchrun, --nproc_per_node=1, train.py]"),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          command: [torchrun, \
                --nproc_per_node=2, t.py]\n          resources: {limits: {nvidia.com/gpu: 2}}\n\
                \x20         volumeMounts: [{name: x, mountPath: /dev/shm}]\n      volumes: [{name: x, \
                emptyDir: {medium: Memory}}]\n"
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| -> Vec<Found> {
        let containers = pod.containers();
        let own = containers.iter().filter(|one| !one.init);
        own.filter_map(|one| lacking(one).or_else(|| over_limit(pod, one))).collect()
    };
    file.pods().iter().flat_map(of_pod).collect()
}

fn lacking(container: &Container) -> Option<Found> {
    if container.pod.document.kustomized || has_shared_memory(container) {
        return None;
    }
    let command = container.words().join(" ");
    let several = workers::needs(&command).is_some_and(|needs| needs.gpus > 1);
    let gpus = container.gpus().unwrap_or_default();
    let message = format!(
        "container {} runs several ranks with 64 MiB at /dev/shm; NCCL and data loaders may run out of it",
        container.name
    );
    let fix = "Mount `emptyDir: {medium: Memory}` at /dev/shm";
    let line = container.line(&[]);
    if several || (gpus > 1 && programs::launches(&command)) {
        return Some(Found::warning(line, message, fix));
    }
    let note = format!(
        "container {} has {gpus} GPUs and 64 MiB at /dev/shm, which NCCL and data loaders use",
        container.name
    );
    (gpus > 1).then(|| Found::note(line, note, fix))
}

/// Memory at /dev/shm counts towards the container's limit.
fn over_limit(pod: &Pod, container: &Container) -> Option<Found> {
    let mounts = container.mounts();
    let (name, _) = mounts.iter().find(|(_, path)| path.trim_end_matches('/') == "/dev/shm")?;
    let volumes = pod.volumes();
    let (index, _, volume) = volumes.iter().find(|(_, known, _)| known == name)?;
    let size = scalar(volume, &["emptyDir", "sizeLimit"])?;
    let limits = container.resources("limits");
    let (_, limit) = limits.iter().find(|(name, _)| name == "memory")?;
    let message = format!(
        "/dev/shm of container {} may grow to {size}, but the memory limit, which includes it, is {limit}",
        container.name
    );
    let line = pod.line(&["volumes", &index.to_string(), "emptyDir", "sizeLimit"]);
    (amount(&size)? >= amount(limit)?).then(|| Found::warning(line, message, "Raise the memory limit"))
}
