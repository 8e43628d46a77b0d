//! What a node's container is: the one description from which the compose file and the engine's API are both
//! filled.

pub use docker::spec::{Container, ContainerNetwork, GpuRequest, Health, Tmpfs, Volume};
use sha2::{Digest, Sha256};

use super::plan::{ClusterPlan, Gpus, LABEL, Mount, Node, PLAN_LABEL, SETTINGS, Source};
use super::request::NetworkKind;
use crate::worker::digest::hex;

/// What the entrypoint makes when it starts: keys of the user, sshd's configuration, the environment. In
/// memory.
pub const RUN: &str = "/run/envdoc";
/// Where programs find secrets. In memory.
pub const SECRETS: &str = "/run/secrets";

/// The container of a node.
pub fn of(plan: &ClusterPlan, node: &Node) -> Container {
    let host = plan.network.kind == NetworkKind::Host;
    // As root the entrypoint makes files for the user and starts sshd; where it has neither to do, the
    // image's own user stays.
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
            // What NVIDIA's notes on running its images ask for in addition to memlock.
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
        // Not `unless-stopped`: an engine that was killed stops, when it starts again, the containers that
        // outlived it, and counts them as stopped by a person (seen with 20.10 in the lab, case 224).
        restart: "always",
        health: plan.ssh.as_ref().map(|_| health()),
        stop_seconds: 30,
    };
    if plan.network.infiniband {
        container.devices.push("/dev/infiniband".into());
        container.capabilities.push("IPC_LOCK".into());
    }
    container.labels.insert(LABEL.into(), plan.name.clone());
    let digest = digest(&container);
    container.labels.insert(PLAN_LABEL.into(), digest);
    container
}

/// The name of the container through which a node's settings are written.
pub fn settings_holder(plan: &ClusterPlan, node: &Node) -> String {
    format!("{}-{}-settings", plan.name, node.name)
}

/// SHA-256 of all of a container but the label that holds this, in hexadecimal.
pub fn digest(container: &Container) -> String {
    let mut bare = container.clone();
    bare.labels.remove(PLAN_LABEL);
    let text = serde_json::to_string(&bare).unwrap_or_default();
    hex(&Sha256::digest(text))
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
    use crate::testing::two_nodes as plan;

    #[test]
    fn digest_changes_only_with_the_plan() {
        let one = plan("");
        let label = |plan: &ClusterPlan| of(plan, &plan.nodes[0]).labels[PLAN_LABEL].clone();
        assert_eq!(label(&one), label(&plan("")));
        assert_ne!(label(&one), label(&plan("limits: {shm: 2g}")));
        assert_eq!(digest(&of(&one, &one.nodes[0])), label(&one));
    }

    #[test]
    fn host_network_adds_node_names_to_etc_hosts() {
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
    fn infiniband_adds_devices_ipc_lock_and_memlock() {
        let plan = plan("network: {infiniband: true}");
        let container = of(&plan, &plan.nodes[0]);
        assert_eq!(
            (container.devices, container.capabilities),
            (vec!["/dev/infiniband".into()], vec!["IPC_LOCK".into()])
        );
        assert!(container.ulimits.contains(&("memlock", -1)));
    }
}
