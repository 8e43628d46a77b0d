//! The cluster as a swarm stack: what `docker stack deploy` accepts of it.

use serde::Serialize;

use super::compose::{list, pairs, words};
use super::{composed, header};
use crate::container::{self, ContainerNetwork, GpuRequest};
use crate::plan::{ClusterPlan, Node};
use diagnostic::error::Error;
use image::render::fill;

const TEMPLATE: &str = include_str!("../../../../templates/cluster/stack.yaml.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    project: String,
    tested: &'static str,
    before: Vec<String>,
    missing: Vec<String>,
    services: Vec<ServiceValues>,
    network: String,
    volumes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ServiceValues {
    name: String,
    lines: Vec<String>,
}

/// The stack file.
pub(super) fn stack(plan: &ClusterPlan) -> Result<String, Error> {
    let mut missing = Vec::new();
    if plan.network.infiniband {
        missing.push("InfiniBand: swarm gives containers no devices. Use the compose files.".to_owned());
    }
    if plan.nodes.iter().any(|node| matches!(node.gpus, crate::plan::Gpus::These(_))) {
        missing.push("which GPUs: swarm counts them, and takes those that daemon.json announces.".into());
    }
    let mut before =
        vec![format!("steps 1 to 3 of README.md (image, swarm and network, settings of every node)")];
    for node in &plan.nodes {
        before.push(format!(
            "docker node update --label-add envdoc.node={} MACHINE  # the one with {}",
            node.name, node.address
        ));
    }
    if plan.nodes.iter().any(|node| node.gpu_count() > 0) {
        before.push(
            "on machines with GPUs: daemon.json with \"default-runtime\": \"nvidia\" and \
            \"node-generic-resources\": [\"gpu=GPU-…\", …],"
                .into(),
        );
        before.push(
            "and swarm-resource = \"DOCKER_RESOURCE_GPU\" in /etc/nvidia-container-runtime/config.toml"
                .into(),
        );
    }
    let values = Values {
        header: header(plan),
        project: plan.name.clone(),
        tested: "read by `envdoc lint` as a stack file; not deployed on a swarm with GPUs.",
        before,
        missing,
        services: plan.nodes.iter().map(|node| service(plan, node)).collect(),
        network: composed(&plan.network.name),
        volumes: super::compose::volumes(plan),
    };
    fill("cluster/stack.yaml.hbs", TEMPLATE, &values)
}

fn service(plan: &ClusterPlan, node: &Node) -> ServiceValues {
    let container = container::of(plan, node);
    let mut lines =
        vec![format!("image: {}", composed(&container.image)), format!("hostname: {}", container.hostname)];
    lines.extend(container.user.as_ref().map(|user| format!("user: {}", composed(user))));
    lines.push(format!("entrypoint: {}", words(&container.entrypoint)));
    if !container.command.is_empty() {
        lines.push(format!("command: {}", words(&container.command)));
    }
    lines.extend(pairs("environment", &container.environment));
    lines.extend(pairs("labels", &node.labels));
    lines.extend(super::compose::mounts(&container));
    // Swarm takes neither shm_size nor the short form of tmpfs with options.
    let shm = [("/dev/shm", Some(container.shm))];
    for (path, size) in container.tmpfs.iter().map(|one| (one.path, None)).chain(shm) {
        lines.extend(["  - type: tmpfs".into(), format!("    target: {path}")]);
        lines.extend(
            size.into_iter().flat_map(|size| ["    tmpfs:".to_owned(), format!("      size: {size}")]),
        );
    }
    lines.push("ulimits:".into());
    lines.extend(container.ulimits.iter().map(|(name, limit)| format!("  {name}: {limit}")));
    lines.extend(list("cap_add", &container.capabilities));
    lines.push("networks: [cluster]".into());
    if container.network == ContainerNetwork::Host {
        let hosts: Vec<String> =
            container.extra_hosts.iter().map(|(name, ip)| format!("{name}:{ip}")).collect();
        lines.extend(list("extra_hosts", &hosts));
    }
    lines.extend(super::compose::health(&container));
    lines.push(format!("stop_grace_period: {}s", container.stop_seconds));
    lines.extend(deploy(node, &container.gpus));
    ServiceValues { name: node.name.clone(), lines }
}

/// One task, on this node's machine and no other; its name leads to its own address.
fn deploy(node: &Node, gpus: &GpuRequest) -> Vec<String> {
    let mut lines = vec![
        "deploy:".to_owned(),
        "  mode: replicated".into(),
        "  replicas: 1".into(),
        "  endpoint_mode: dnsrr".into(),
        "  restart_policy: {condition: any}".into(),
        "  placement:".into(),
        format!("    constraints: [\"node.labels.envdoc.node == {}\"]", node.name),
    ];
    if *gpus != GpuRequest::None {
        lines.extend([
            "  resources:".into(),
            "    reservations:".into(),
            "      generic_resources:".into(),
            format!("        - discrete_resource_spec: {{kind: gpu, value: {}}}", node.gpu_count()),
        ]);
    }
    lines
}
