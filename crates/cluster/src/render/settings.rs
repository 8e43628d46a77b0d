//! What lies in a container's `/etc/envdoc`.

use serde::Serialize;

use super::{SettingsFile, ds_config, header, ssh};
use crate::keys::{self, Keys};
use crate::plan::{ClusterPlan, Node};
use crate::request::NetworkKind;
use crate::secrets::Value;
use diagnostic::error::Error;
use image::render::fill;

const NODE: &str = include_str!("../../../../templates/cluster/node.hbs");
const HOSTFILE: &str = include_str!("../../../../templates/cluster/hostfile.hbs");
const ENTRYPOINT: &str = include_str!("../../../../templates/cluster/entrypoint.sh");
const HEALTH: &str = include_str!("../../../../templates/cluster/health.sh");
const ENTER: &str = include_str!("../../../../templates/cluster/enter.sh");

#[derive(Debug, Serialize)]
struct NodeValues {
    header: String,
    node: String,
    network: &'static str,
    address: String,
    interface: String,
    ssh_port: String,
    ssh_user: String,
}

#[derive(Debug, Serialize)]
struct HostfileValues {
    header: String,
    nodes: Vec<Slots>,
}

#[derive(Debug, Serialize)]
struct Slots {
    name: String,
    slots: u32,
}

/// The files of a node's settings volume. Without keys those that hold one are left out.
pub fn settings(
    plan: &ClusterPlan,
    node: &Node,
    keys: Option<&Keys>,
    secrets: &[Value],
) -> Result<Vec<SettingsFile>, Error> {
    let script = |path: &str, text: &str| file(path, 0o755, text.to_owned());
    let mut files = vec![
        file("node", 0o644, self::node(plan, node)?),
        file("hostfile", 0o644, hostfile(plan)?),
        file("ds_config.json", 0o644, ds_config::ds_config(plan)),
        script("entrypoint", ENTRYPOINT),
        script("health", HEALTH),
        script("enter", ENTER),
    ];
    if let Some(server) = &plan.ssh {
        files.push(file("ssh/sshd_config", 0o644, ssh::sshd_config(plan, node, server)?));
        files.push(file("ssh/config", 0o644, ssh::config(plan, server)?));
        if let Some(keys) = keys {
            files.extend(key_files(plan, node, server, keys)?);
        }
    }
    for secret in secrets {
        let path = format!("secrets/{}", secret.name);
        files.push(SettingsFile { path, mode: 0o400, bytes: secret.bytes.clone() });
    }
    Ok(files)
}

fn file(path: &str, mode: u32, text: String) -> SettingsFile {
    SettingsFile { path: path.into(), mode, bytes: text.into_bytes() }
}

/// The keys that a node has: its own server's, the clients', and everybody's public ones.
fn key_files(
    plan: &ClusterPlan,
    node: &Node,
    server: &crate::plan::Ssh,
    keys: &Keys,
) -> Result<Vec<SettingsFile>, Error> {
    let mut files = vec![
        file("ssh/known_hosts", 0o644, keys.known_hosts(plan, server)?),
        // sshd reads it as the user who logs in; there is nothing to hide in it.
        file("ssh/authorized_keys", 0o644, keys.authorized_keys(plan)?),
        file("ssh/id_ed25519", 0o600, keys::private(&keys.client)?),
        file("ssh/id_ed25519.pub", 0o644, format!("{}\n", keys::public(&keys.client)?)),
    ];
    if let Some(host) = keys.hosts.get(&node.name) {
        files.push(file("ssh/host_ed25519", 0o600, keys::private(host)?));
        files.push(file("ssh/host_ed25519.pub", 0o644, format!("{}\n", keys::public(host)?)));
    }
    Ok(files)
}

fn node(plan: &ClusterPlan, node: &Node) -> Result<String, Error> {
    let ssh = plan.ssh.as_ref();
    let values = NodeValues {
        header: header(plan),
        node: node.name.clone(),
        network: match plan.network.kind {
            NetworkKind::Overlay => "overlay",
            NetworkKind::Host => "host",
            NetworkKind::Existing => "existing",
        },
        address: node.address.clone(),
        interface: plan.network.interface.clone().unwrap_or_default(),
        ssh_port: ssh.map_or(String::new(), |ssh| ssh.port.to_string()),
        ssh_user: ssh.map_or(String::new(), |ssh| ssh.user.clone()),
    };
    fill("cluster/node.hbs", NODE, &values)
}

/// The hostfile of DeepSpeed's launcher.
fn hostfile(plan: &ClusterPlan) -> Result<String, Error> {
    let nodes = plan.nodes.iter().map(|node| Slots { name: node.name.clone(), slots: node.slots }).collect();
    fill("cluster/hostfile.hbs", HOSTFILE, &HostfileValues { header: header(plan), nodes })
}
