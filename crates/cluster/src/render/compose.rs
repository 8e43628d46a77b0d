//! A node's compose file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{composed, header};
use crate::container::{Container, ContainerNetwork, GpuRequest};
use crate::field_labels;
use crate::plan::{ClusterPlan, LABEL, Node, Source};
use diagnostic::error::Error;
use image::render::fill;

const TEMPLATE: &str = include_str!("../../../../templates/cluster/compose.yaml.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    address: String,
    rank: usize,
    project: String,
    name: String,
    lines: Vec<String>,
    networks: Vec<String>,
    volumes: Vec<String>,
}

/// The compose file of a node.
pub fn compose(plan: &ClusterPlan, node: &Node) -> Result<String, Error> {
    let container = field_labels::labelled(plan, node);
    let values = Values {
        header: header(plan),
        address: node.address.clone(),
        rank: node.index,
        project: container.project.clone(),
        name: container.name.clone(),
        lines: service(&container),
        networks: match &container.network {
            ContainerNetwork::Host => Vec::new(),
            ContainerNetwork::Named { name, .. } => vec![format!("name: {}", composed(name))],
        },
        volumes: volumes(plan),
    };
    fill("cluster/compose.yaml.hbs", TEMPLATE, &values)
}

/// The keys of the service, each as it stands under its name.
fn service(container: &Container) -> Vec<String> {
    let mut lines = vec![
        format!("image: {}", composed(&container.image)),
        format!("container_name: {}", container.name),
        format!("hostname: {}", container.hostname),
    ];
    lines.extend(container.user.as_ref().map(|user| format!("user: {}", composed(user))));
    lines.push(format!("entrypoint: {}", words(&container.entrypoint)));
    if !container.command.is_empty() {
        lines.push(format!("command: {}", words(&container.command)));
    }
    lines.extend(pairs("environment", &container.environment));
    lines.extend(pairs("labels", &container.labels));
    lines.extend(mounts(container));
    lines.push("tmpfs:".into());
    lines.extend(container.tmpfs.iter().map(|one| format!("  - {}:mode={:04o}", one.path, one.mode)));
    lines.push(format!("shm_size: {}", container.shm));
    lines.push("ulimits:".into());
    lines.extend(container.ulimits.iter().map(|(name, limit)| format!("  {name}: {limit}")));
    lines.extend(list(
        "devices",
        &container.devices.iter().map(|one| format!("{one}:{one}")).collect::<Vec<_>>(),
    ));
    lines.extend(list("cap_add", &container.capabilities));
    lines.extend(gpus(&container.gpus));
    lines.extend(network(container));
    lines.push(format!("restart: {}", container.restart));
    lines.extend(health(container));
    lines.push(format!("stop_grace_period: {}s", container.stop_seconds));
    lines
}

/// How the engine asks whether it works.
pub(super) fn health(container: &Container) -> Vec<String> {
    let Some(health) = &container.health else { return Vec::new() };
    let test = std::iter::once("CMD".to_owned()).chain(health.command.clone()).collect::<Vec<_>>();
    vec![
        "healthcheck:".into(),
        format!("  test: {}", words(&test)),
        format!("  interval: {}s", health.interval),
        format!("  timeout: {}s", health.timeout),
        format!("  retries: {}", health.retries),
        format!("  start_period: {}s", health.start_period),
    ]
}

/// Words as a list in one line.
pub(super) fn words(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| composed(word)).collect();
    format!("[{}]", quoted.join(", "))
}

pub(super) fn list(key: &str, items: &[String]) -> Vec<String> {
    match items.is_empty() {
        true => Vec::new(),
        false => {
            let items = items.iter().map(|item| format!("  - {}", composed(item)));
            std::iter::once(format!("{key}:")).chain(items).collect()
        }
    }
}

pub(super) fn pairs(key: &str, pairs: &BTreeMap<String, String>) -> Vec<String> {
    match pairs.is_empty() {
        true => Vec::new(),
        false => {
            let pairs = pairs.iter().map(|(name, text)| format!("  {name}: {}", composed(text)));
            std::iter::once(format!("{key}:")).chain(pairs).collect()
        }
    }
}

pub(super) fn mounts(container: &Container) -> Vec<String> {
    let mut lines = vec!["volumes:".to_owned()];
    for volume in &container.volumes {
        lines.push(format!("  - type: {}", if volume.bind { "bind" } else { "volume" }));
        lines.push(format!("    source: {}", composed(&volume.from)));
        lines.push(format!("    target: {}", composed(&volume.to)));
        if volume.read_only {
            lines.push("    read_only: true".into());
        }
    }
    lines
}

fn gpus(asked: &GpuRequest) -> Vec<String> {
    let which = match asked {
        GpuRequest::None => return Vec::new(),
        GpuRequest::All => "count: all".to_owned(),
        GpuRequest::Count(count) => format!("count: {count}"),
        GpuRequest::Devices(list) => format!("device_ids: {}", words(list)),
    };
    let lines = [
        "deploy:",
        "  resources:",
        "    reservations:",
        "      devices:",
        "        - driver: nvidia",
        &format!("          {which}"),
        "          capabilities: [gpu]",
    ];
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn network(container: &Container) -> Vec<String> {
    match &container.network {
        ContainerNetwork::Host => {
            let hosts: Vec<String> =
                container.extra_hosts.iter().map(|(name, address)| format!("{name}:{address}")).collect();
            std::iter::once("network_mode: host".to_owned()).chain(list("extra_hosts", &hosts)).collect()
        }
        ContainerNetwork::Named { alias, .. } => {
            vec!["networks:".into(), "  cluster:".into(), format!("    aliases: [{alias}]")]
        }
    }
}

/// The volumes: settings that somebody filled before, shares that the engine mounts. Named as the engine
/// shall call them.
pub(super) fn volumes(plan: &ClusterPlan) -> Vec<String> {
    let mut lines = vec![
        format!("{}:", plan.settings_volume),
        format!("  name: {}", plan.settings_volume),
        "  external: true".into(),
    ];
    for mount in &plan.mounts {
        let Source::Nfs { volume, server, path, options } = &mount.from else { continue };
        lines.extend([
            format!("{volume}:"),
            format!("  name: {volume}"),
            "  driver: local".into(),
            "  driver_opts:".into(),
            "    type: nfs".into(),
            format!("    o: {}", composed(&format!("addr={server},{options}"))),
            format!("    device: {}", composed(&format!(":{path}"))),
            "  labels:".into(),
            format!("    {LABEL}: {}", composed(&plan.name)),
        ]);
    }
    lines
}
