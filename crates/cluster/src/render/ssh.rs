//! Configuration of the SSH server and of the clients in the containers.

use serde::Serialize;

use super::header;
use crate::plan::{ClusterPlan, Node, Ssh};
use crate::request::NetworkKind;
use diagnostic::error::Error;
use image::render::fill;

const SSHD: &str = include_str!("../../../../templates/cluster/sshd_config.hbs");
const CONFIG: &str = include_str!("../../../../templates/cluster/ssh_config.hbs");

#[derive(Debug, Serialize)]
struct SshdValues {
    header: String,
    port: u16,
    listen: Vec<String>,
    user: String,
    root_login: &'static str,
}

#[derive(Debug, Serialize)]
struct ConfigValues {
    header: String,
    hosts: String,
    port: u16,
    user: String,
}

/// The server's.
pub(super) fn sshd_config(plan: &ClusterPlan, node: &Node, ssh: &Ssh) -> Result<String, Error> {
    let host = plan.network.kind == NetworkKind::Host;
    let values = SshdValues {
        header: header(plan),
        port: ssh.port,
        // On the machine's own network only where the other nodes look for it.
        listen: if host { vec![node.address.clone()] } else { Vec::new() },
        user: ssh.user.clone(),
        root_login: if ssh.user == "root" { "prohibit-password" } else { "no" },
    };
    fill("cluster/sshd_config.hbs", SSHD, &values)
}

/// The clients'.
pub(super) fn config(plan: &ClusterPlan, ssh: &Ssh) -> Result<String, Error> {
    let mut hosts: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
    if plan.network.kind == NetworkKind::Host {
        hosts.extend(plan.nodes.iter().map(|node| node.address.as_str()));
    }
    let values =
        ConfigValues { header: header(plan), hosts: hosts.join(" "), port: ssh.port, user: ssh.user.clone() };
    fill("cluster/ssh_config.hbs", CONFIG, &values)
}
