//! How a job is started on the cluster, with each launcher.

use serde::Serialize;

use super::header;
use crate::plan::{ClusterPlan, Node, SETTINGS};
use crate::request::Launcher;
use diagnostic::error::Error;
use image::render::fill;

const DEEPSPEED: &str = include_str!("../../../../templates/cluster/launch-deepspeed.sh.hbs");
const TORCHRUN: &str = include_str!("../../../../templates/cluster/launch-torchrun.sh.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    node: String,
    user: String,
    command: String,
}

/// The words before the script, in the first node's container, for DeepSpeed's launcher. The address of the
/// first node is said: left to itself the launcher takes the first that `hostname -I` prints there, which may
/// be docker_gwbridge's.
pub fn deepspeed(plan: &ClusterPlan) -> Vec<String> {
    let words = [
        format!("{SETTINGS}/enter"),
        "deepspeed".into(),
        "--hostfile".into(),
        format!("{SETTINGS}/hostfile"),
        "--master_addr".into(),
        plan.nodes[0].name.clone(),
        "--master_port".into(),
        plan.rendezvous_port.to_string(),
    ];
    words.into()
}

/// The words before the script in a node's container for torchrun, which is started on every node. Its
/// options with underscores are those that every release has: torch 1.13 knows no others.
pub fn torchrun(plan: &ClusterPlan, node: &Node) -> Vec<String> {
    let words = [
        format!("{SETTINGS}/enter"),
        "torchrun".into(),
        format!("--nnodes={}", plan.nodes.len()),
        format!("--node_rank={}", node.index),
        format!("--nproc_per_node={}", node.slots),
        format!("--master_addr={}", plan.nodes[0].name),
        format!("--master_port={}", plan.rendezvous_port),
    ];
    words.into()
}

/// The scripts of a launch by hand: for DeepSpeed one on the first node's machine, for torchrun one on each.
pub fn scripts(plan: &ClusterPlan) -> Result<Vec<(String, String)>, Error> {
    let values = |node: &Node, command: Vec<String>| Values {
        header: header(plan),
        node: node.name.clone(),
        user: plan.ssh.as_ref().map_or(String::new(), |ssh| ssh.user.clone()),
        command: command.join(" "),
    };
    let mut scripts = Vec::new();
    if plan.launcher == Launcher::Deepspeed {
        let first = &plan.nodes[0];
        let text = fill("cluster/launch-deepspeed.sh.hbs", DEEPSPEED, &values(first, deepspeed(plan)))?;
        scripts.push((format!("{}/launch-deepspeed.sh", first.name), text));
    }
    if plan.launcher != Launcher::None {
        for node in &plan.nodes {
            let text = fill("cluster/launch-torchrun.sh.hbs", TORCHRUN, &values(node, torchrun(plan, node)))?;
            scripts.push((format!("{}/launch-torchrun.sh", node.name), text));
        }
    }
    Ok(scripts)
}
