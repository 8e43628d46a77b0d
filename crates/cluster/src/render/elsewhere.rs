//! The same job where somebody else schedules it: Kubernetes with Kubeflow Trainer, Slurm with enroot and
//! pyxis.
//!
//! Both start a number of identical replicas, so a plan with different nodes has neither.

use serde::Serialize;

use super::{header, quoted};
use crate::plan::{ClusterPlan, Source};
use diagnostic::error::Error;
use diagnostic::shell;
use image::render::fill;

const KUBERNETES: &str = include_str!("../../../../templates/cluster/kubernetes.yaml.hbs");
const SLURM: &str = include_str!("../../../../templates/cluster/slurm.sh.hbs");

#[derive(Debug, Serialize)]
struct KubernetesValues {
    header: String,
    tested: &'static str,
    missing: Vec<String>,
    name: String,
    image: String,
    nodes: usize,
    slots: u32,
    container: Vec<String>,
    volumes: Vec<String>,
    trainer: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SlurmValues {
    header: String,
    tested: &'static str,
    missing: Vec<String>,
    name: String,
    nodes: usize,
    slots: u32,
    port: u16,
    options: Vec<String>,
    environment: Vec<String>,
    image: String,
    mounts: String,
}

/// Whether all nodes run as many processes on as many GPUs.
pub(super) fn alike(plan: &ClusterPlan) -> bool {
    let first = &plan.nodes[0];
    plan.nodes.iter().all(|node| node.slots == first.slots && node.gpu_count() == first.gpu_count())
}

/// Settings that neither format carries.
fn missing(plan: &ClusterPlan, others: &[&str]) -> Vec<String> {
    let mut missing: Vec<String> = others.iter().map(|line| (*line).to_owned()).collect();
    if !plan.secrets.is_empty() {
        missing.push("secrets: not rendered; use the secret store of the cluster.".into());
    }
    if plan.network.infiniband {
        missing.push(
            "InfiniBand: depends on how the cluster exposes RDMA devices (Kubernetes: a device plugin)."
                .into(),
        );
    }
    missing
}

/// A TrainingRuntime and a TrainJob of Kubeflow Trainer.
pub(super) fn kubernetes(plan: &ClusterPlan) -> Result<String, Error> {
    let first = &plan.nodes[0];
    let mut volumes = vec![
        "- name: shm".to_owned(),
        "  emptyDir: {medium: Memory, sizeLimit: \"".to_owned() + &plan.shm.to_string() + "\"}",
    ];
    let mut container = vec!["volumeMounts:".to_owned(), "  - {name: shm, mountPath: /dev/shm}".into()];
    for (index, mount) in plan.mounts.iter().enumerate() {
        container.push(format!(
            "  - {{name: storage-{index}, mountPath: {}, readOnly: {}}}",
            quoted(&mount.to),
            mount.read_only
        ));
        volumes.push(format!("- name: storage-{index}"));
        volumes.push(match &mount.from {
            Source::Path(path) => format!("  hostPath: {{path: {}, type: Directory}}", quoted(path)),
            Source::Nfs { server, path, .. } => {
                format!("  nfs: {{server: {}, path: {}}}", quoted(server), quoted(path))
            }
        });
    }
    let mut trainer = Vec::new();
    if first.gpu_count() > 0 {
        trainer.extend([
            "resourcesPerNode:".into(),
            "  limits:".into(),
            format!("    nvidia.com/gpu: {}", first.gpu_count()),
        ]);
    }
    // A pod's interfaces are not the machine's.
    let environment: Vec<(String, String)> =
        shared(plan).into_iter().filter(|(name, _)| !name.ends_with("_SOCKET_IFNAME")).collect();
    if !environment.is_empty() {
        trainer.push("env:".into());
        for (name, value) in &environment {
            trainer.push(format!("  - {{name: {name}, value: {}}}", quoted(value)));
        }
    }
    let values = KubernetesValues {
        header: header(plan),
        tested: "read as YAML, keys compared by hand with Trainer's types and its own runtimes; not \
            applied to a cluster.",
        missing: missing(plan, &["memlock and nofile: set in the container runtime of each node."]),
        name: plan.name.clone(),
        image: quoted(plan.image_name()),
        nodes: plan.nodes.len(),
        slots: first.slots,
        container,
        volumes,
        trainer,
    };
    fill("cluster/kubernetes.yaml.hbs", KUBERNETES, &values)
}

/// A batch script.
pub(super) fn slurm(plan: &ClusterPlan) -> Result<String, Error> {
    let first = &plan.nodes[0];
    let mut others = vec!["shared memory and limits: they are the machines' own under enroot."];
    let mut mounts = Vec::new();
    for mount in &plan.mounts {
        match &mount.from {
            Source::Path(path) => {
                mounts.push(format!("{path}:{}{}", mount.to, if mount.read_only { ":ro" } else { "" }))
            }
            Source::Nfs { .. } => {
                others.push("NFS shares: the machines mount them, then add them to --container-mounts.")
            }
        }
    }
    let values = SlurmValues {
        header: header(plan),
        tested: "read by bash and shellcheck; not run on a Slurm cluster.",
        missing: missing(plan, &others),
        name: plan.name.clone(),
        nodes: plan.nodes.len(),
        slots: first.slots,
        port: plan.rendezvous_port,
        options: if first.gpu_count() > 0 {
            vec![format!("--gpus-per-node={}", first.gpu_count())]
        } else {
            Vec::new()
        },
        environment: shared(plan)
            .iter()
            .map(|(name, value)| format!("{name}={}", shell::quoted(value)))
            .collect(),
        image: shell::quoted(&enroot(plan.image_name())),
        mounts: if mounts.is_empty() {
            String::new()
        } else {
            format!(" --container-mounts={}", shell::quoted(&mounts.join(",")))
        },
    };
    fill("cluster/slurm.sh.hbs", SLURM, &values)
}

/// What the environment of every node has alike, without what only envdoc's containers need.
fn shared(plan: &ClusterPlan) -> Vec<(String, String)> {
    let first = &plan.nodes[0].environment;
    let everywhere = |name: &str, value: &str| {
        plan.nodes.iter().all(|node| node.environment.get(name).is_some_and(|other| other == value))
    };
    let ours = ["PDSH_RCMD_TYPE", "NVIDIA_VISIBLE_DEVICES"];
    first
        .iter()
        .filter(|(name, value)| !ours.contains(&name.as_str()) && everywhere(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// An image as enroot names it: `REGISTRY#NAME:TAG` where there is a registry.
fn enroot(image: &str) -> String {
    match image.split_once('/') {
        Some((registry, name)) if registry.contains(['.', ':']) => format!("{registry}#{name}"),
        _ => image.to_owned(),
    }
}
