//! What a node's container is: the one description from which the compose file and the engine's API are both filled.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::plan::{ClusterPlan, Gpus, LABEL, Mount, Node, PLAN_LABEL, SETTINGS, Source};
use super::request::NetworkKind;
use crate::worker::digest::hex;

/// What the entrypoint makes when it starts: keys of the user, sshd's configuration, the environment. In memory.
pub const RUN: &str = "/run/envdoc";
/// Where programs find secrets. In memory.
pub const SECRETS: &str = "/run/secrets";

/// A node's container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// The compose project that it belongs to: the cluster's name.
    pub project: String,
    /// Its service in that project, and its own name: the node's.
    pub name: String,
    /// Its host name: the node's.
    pub hostname: String,
    /// Its image.
    pub image: String,
    /// The user that the entrypoint runs as, where it is not the image's.
    pub user: Option<String>,
    /// The program that it runs, in place of the image's.
    pub entrypoint: Vec<String>,
    /// Its arguments; empty: the image's are dropped too.
    pub command: Vec<String>,
    /// Environment.
    pub environment: BTreeMap<String, String>,
    /// Labels; compose adds its own.
    pub labels: BTreeMap<String, String>,
    /// Files.
    pub volumes: Vec<Volume>,
    /// Directories in memory.
    pub tmpfs: Vec<Tmpfs>,
    /// Size of /dev/shm in bytes.
    pub shm: u64,
    /// Limits by name (`memlock`), soft and hard alike; -1 is unlimited.
    pub ulimits: Vec<(&'static str, i64)>,
    /// GPUs.
    pub gpus: GpuRequest,
    /// Devices of the machine, each under its own name in the container.
    pub devices: Vec<String>,
    /// Capabilities beside the usual ones.
    pub capabilities: Vec<String>,
    /// The network that it is in.
    pub network: ContainerNetwork,
    /// Names that /etc/hosts gives an address: on the machines' own network there is no other name service.
    pub extra_hosts: Vec<(String, String)>,
    /// When the engine starts it again.
    pub restart: &'static str,
    /// How the engine finds out whether it works; `None`: there is nothing to ask.
    pub health: Option<Health>,
    /// Seconds that it has to stop before it is killed.
    pub stop_seconds: u32,
}

/// Files that a container sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// `bind`: `from` is a path of the machine, which must exist; else the name of a volume.
    pub bind: bool,
    /// Path or volume.
    pub from: String,
    /// Where the container sees it.
    pub to: String,
    /// Whether it may only be read.
    pub read_only: bool,
}

/// A directory in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tmpfs {
    /// Where.
    pub path: &'static str,
    /// Its mode: 0o755.
    pub mode: u32,
}

/// GPUs as the engine is asked for them: driver `nvidia`, capability `gpu`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuRequest {
    /// No request at all.
    None,
    /// All.
    All,
    /// Any so many: the engine takes the first.
    Count(u32),
    /// These.
    Devices(Vec<String>),
}

/// The network of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerNetwork {
    /// The machine's own.
    Host,
    /// This one, which exists before the container does.
    Named {
        /// Its name.
        name: String,
        /// The container's further name in it: the node's.
        alias: String,
    },
}

/// A health check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Seconds between two of them.
    pub interval: u32,
    /// Seconds after which one has failed.
    pub timeout: u32,
    /// How many must fail one after the other.
    pub retries: u32,
    /// Seconds after the start in which a failure does not count.
    pub start_period: u32,
}

/// The container of a node.
pub fn of(plan: &ClusterPlan, node: &Node) -> Container {
    let host = plan.network.kind == NetworkKind::Host;
    // As root the entrypoint makes files for the user and starts sshd; where it has neither to do, the image's own user stays.
    let root = plan.ssh.is_some() || !plan.secrets.is_empty();
    let mut container = Container {
        project: plan.name.clone(),
        name: node.name.clone(),
        hostname: node.name.clone(),
        image: plan.image_name().to_owned(),
        user: root.then(|| "0:0".to_owned()),
        entrypoint: vec![format!("{SETTINGS}/entrypoint")],
        command: plan.command.clone(),
        environment: node.environment.clone(),
        labels: node.labels.clone(),
        volumes: volumes(plan),
        tmpfs: tmpfs(plan, root),
        shm: plan.shm,
        ulimits: vec![
            ("memlock", plan.memlock.map_or(-1, whole)),
            ("nofile", whole(plan.nofile)),
            // What NVIDIA's notes on running its images ask for beside memlock.
            ("stack", 64 << 20),
        ],
        gpus: match &node.gpus {
            Gpus::None => GpuRequest::None,
            Gpus::All => GpuRequest::All,
            Gpus::Count(count) => GpuRequest::Count(*count),
            Gpus::These(list) => GpuRequest::Devices(list.clone()),
        },
        devices: Vec::new(),
        capabilities: Vec::new(),
        network: match host {
            true => ContainerNetwork::Host,
            false => ContainerNetwork::Named { name: plan.network.name.clone(), alias: node.name.clone() },
        },
        extra_hosts: match host {
            true => plan.nodes.iter().map(|node| (node.name.clone(), node.address.clone())).collect(),
            false => Vec::new(),
        },
        // Not `unless-stopped`: an engine that was killed stops, when it starts again, the containers that outlived it, and counts them as
        // stopped by a person (seen with 20.10 in the lab, case 224).
        restart: "always",
        health: plan.ssh.as_ref().map(|_| health()),
        stop_seconds: 30,
    };
    if plan.network.infiniband {
        container.devices.push("/dev/infiniband".into());
        container.capabilities.push("IPC_LOCK".into());
    }
    container.labels.insert(LABEL.into(), plan.name.clone());
    let digest = container.digest();
    container.labels.insert(PLAN_LABEL.into(), digest);
    container
}

impl Container {
    /// SHA-256 of all of it but the label that holds this, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut bare = self.clone();
        bare.labels.remove(PLAN_LABEL);
        let text = serde_json::to_string(&bare).unwrap_or_default();
        hex(&Sha256::digest(text))
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn volumes(plan: &ClusterPlan) -> Vec<Volume> {
    let settings =
        Volume { bind: false, from: plan.settings_volume.clone(), to: SETTINGS.into(), read_only: true };
    let mount = |mount: &Mount| {
        let (bind, from) = match &mount.from {
            Source::Path(path) => (true, path.clone()),
            Source::Nfs { volume, .. } => (false, volume.clone()),
        };
        Volume { bind, from, to: mount.to.clone(), read_only: mount.read_only }
    };
    std::iter::once(settings).chain(plan.mounts.iter().map(mount)).collect()
}

fn tmpfs(plan: &ClusterPlan, root: bool) -> Vec<Tmpfs> {
    let mut all = vec![Tmpfs { path: RUN, mode: if root { 0o755 } else { 0o1777 } }];
    if !plan.secrets.is_empty() {
        all.push(Tmpfs { path: SECRETS, mode: 0o755 });
    }
    all
}

/// sshd answers on its port with this node's key.
fn health() -> Health {
    Health {
        command: vec![format!("{SETTINGS}/health")],
        interval: 10,
        timeout: 5,
        retries: 3,
        start_period: 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::two_nodes as plan;

    #[test]
    fn the_digest_tells_what_differs_and_nothing_else() {
        let one = plan("");
        let label = |plan: &ClusterPlan| of(plan, &plan.nodes[0]).labels[PLAN_LABEL].clone();
        assert_eq!(label(&one), label(&plan("")));
        assert_ne!(label(&one), label(&plan("limits: {shm: 2g}")));
        assert_eq!(of(&one, &one.nodes[0]).digest(), label(&one));
    }

    #[test]
    fn on_the_machines_network_names_are_in_etc_hosts() {
        let plan = plan("network: {kind: host}");
        let container = of(&plan, &plan.nodes[1]);
        assert_eq!(container.network, ContainerNetwork::Host);
        assert_eq!(container.extra_hosts[0], ("node1".into(), "10.0.0.1".into()));
        assert_eq!(container.hostname, "node2");
    }

    #[test]
    fn without_ssh_and_secrets_the_image_keeps_its_user() {
        let plain = plan("launcher: torchrun");
        let container = of(&plain, &plain.nodes[0]);
        assert_eq!((container.user, container.health), (None, None));
        assert_eq!(container.tmpfs[0].mode, 0o1777);
        let secret = plan("launcher: torchrun\nsecrets: [{name: token, variable: HF_TOKEN}]");
        assert!(of(&secret, &secret.nodes[0]).user.is_some());
    }

    #[test]
    fn infiniband_brings_its_devices_and_may_pin_memory() {
        let plan = plan("network: {infiniband: true}");
        let container = of(&plan, &plan.nodes[0]);
        assert_eq!(
            (container.devices, container.capabilities),
            (vec!["/dev/infiniband".into()], vec!["IPC_LOCK".into()])
        );
        assert!(container.ulimits.contains(&("memlock", -1)));
    }
}
