//! The steps of `envdoc cluster up`, for those who type them.

use serde::Serialize;

use super::header;
use crate::plan::{ClusterPlan, Image, LABEL, Source};
use crate::request::{Launcher, NetworkKind};
use diagnostic::error::Error;
use image::render::fill;

const TEMPLATE: &str = include_str!("../../../../templates/cluster/README.md.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    name: String,
    image: String,
    build: Vec<String>,
    nodes: Vec<NodeValues>,
    first: String,
    first_address: String,
    overlay: bool,
    existing: bool,
    network: String,
    network_options: String,
    volume: String,
    label: String,
    paths: Vec<String>,
    ssh: bool,
    deepspeed: bool,
    torchrun: bool,
    world: u32,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NodeValues {
    name: String,
    address: String,
    leads: bool,
}

/// The README next to the rendered files.
pub(super) fn readme(plan: &ClusterPlan) -> Result<String, Error> {
    let nodes = plan.nodes.iter().map(|node| NodeValues {
        name: node.name.clone(),
        address: node.address.clone(),
        leads: node.index == 0,
    });
    let paths = plan.mounts.iter().filter_map(|mount| match &mount.from {
        Source::Path(path) => Some(path.clone()),
        Source::Nfs { .. } => None,
    });
    let values = Values {
        header: header(plan),
        name: plan.name.clone(),
        image: plan.image_name().to_owned(),
        build: match &plan.image {
            Image::Built { request, .. } => vec![request.clone()],
            Image::Named(_) => Vec::new(),
        },
        nodes: nodes.collect(),
        first: plan.nodes[0].name.clone(),
        first_address: plan.nodes[0].address.clone(),
        overlay: plan.network.kind == NetworkKind::Overlay,
        existing: plan.network.kind == NetworkKind::Existing,
        network: plan.network.name.clone(),
        network_options: network_options(plan),
        volume: plan.settings_volume.clone(),
        label: format!("{LABEL}={}", plan.name),
        paths: paths.collect(),
        ssh: plan.ssh.is_some(),
        deepspeed: plan.launcher == Launcher::Deepspeed,
        torchrun: plan.launcher == Launcher::Torchrun,
        world: plan.world_size(),
        warnings: plan.warnings.clone(),
    };
    fill("cluster/README.md.hbs", TEMPLATE, &values)
}

/// Options of `docker network create`.
fn network_options(plan: &ClusterPlan) -> String {
    let mut words = vec!["--driver overlay --attachable".to_owned()];
    words.extend(plan.network.subnet.as_ref().map(|subnet| format!("--subnet {subnet}")));
    words.extend(plan.network.mtu.map(|mtu| format!("--opt com.docker.network.driver.mtu={mtu}")));
    if plan.network.encrypted {
        words.push("--opt encrypted".into());
    }
    words.join(" ")
}
