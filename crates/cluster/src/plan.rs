//! Everything about a cluster settled: after the plan nothing is left to choose.

use std::collections::BTreeMap;

use super::request::{Launcher, NetworkKind};
use docker::transport::Endpoint;

/// Label of everything that belongs to a cluster; its value is the cluster's name. Only what carries it is
/// ever removed.
pub const LABEL: &str = "envdoc.cluster";
/// Label of a container: what it was made from, as a SHA-256.
pub const PLAN_LABEL: &str = "envdoc.plan";
/// Where a container finds keys, hostfile and the like.
pub const SETTINGS: &str = "/etc/envdoc";

/// A cluster with every choice made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPlan {
    /// Its name: `two-node`; also the compose project's.
    pub name: String,
    /// Where the request was read: `compose/two-node/cluster.yaml`, where it was a file. What it names on
    /// this machine is seen from there.
    pub origin: Option<String>,
    /// The image that every node runs.
    pub image: Image,
    /// The registry that it is pushed to and pulled from, `registry.example:5000/team`; `None`: it goes from
    /// engine to engine.
    pub registry: Option<String>,
    /// The machines, in the order of their ranks.
    pub nodes: Vec<Node>,
    /// How the containers reach each other.
    pub network: Network,
    /// The SSH server in the containers; `None` where the launcher needs none.
    pub ssh: Option<Ssh>,
    /// What the containers see of files.
    pub mounts: Vec<Mount>,
    /// Size of /dev/shm in bytes.
    pub shm: u64,
    /// Memory that may be pinned, in bytes; `None` is unlimited.
    pub memlock: Option<u64>,
    /// Open files.
    pub nofile: u64,
    pub launcher: Launcher,
    /// Secrets: their files are in the settings, 0400.
    pub secrets: Vec<Secret>,
    /// What the containers run behind envdoc's entrypoint; empty: they wait until they are stopped.
    pub command: Vec<String>,
    /// The named volume with the files of [`SETTINGS`]: `two-node-settings`.
    pub settings_volume: String,
    /// Port of the rendezvous on the first node: torchrun's and DeepSpeed's default, 29500.
    pub rendezvous_port: u16,
    /// What to know before using it.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// One that a registry, or every node, has.
    Named(String),
    /// One that is built first; then it has this tag.
    Built {
        /// Path of a request (`.yaml`, `.yml`) or of a Dockerfile, seen from cluster.yaml.
        request: String,
        /// Its tag: `two-node:envdoc`.
        tag: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its place in the cluster, from 0: DeepSpeed's and torchrun's node rank.
    pub index: usize,
    /// Its name, that of its container, and the container's host name in the network.
    pub name: String,
    /// The address by which the other machines reach it.
    pub address: String,
    /// Its engine: `ssh://root@10.0.18.1`.
    pub engine: Endpoint,
    /// Directory with the certificates for an engine over TLS.
    pub tls: Option<String>,
    /// The GPUs that the container gets.
    pub gpus: Gpus,
    /// Processes of a training job on it.
    pub slots: u32,
    /// Labels of its container in addition to envdoc's.
    pub labels: BTreeMap<String, String>,
    /// The whole environment of its container.
    pub environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gpus {
    None,
    All,
    /// The first so many.
    Count(u32),
    /// These: indexes or UUIDs.
    These(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Overlay, or the network of the host.
    pub kind: NetworkKind,
    /// Its name: `two-node-net`; `host`.
    pub name: String,
    /// Largest packet in bytes, where the request says it; else `up` derives it from the machines'
    /// interfaces.
    pub mtu: Option<u32>,
    /// Whether an overlay is encrypted.
    pub encrypted: bool,
    /// Addresses of an overlay, where the request says them.
    pub subnet: Option<String>,
    /// The interface for NCCL and Gloo, where the request says it; else `up` finds it by the container's
    /// address in this network.
    pub interface: Option<String>,
    /// Whether the containers get the machines' InfiniBand devices.
    pub infiniband: bool,
}

/// The SSH server in the containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ssh {
    /// The port that it listens on.
    pub port: u16,
    /// The user that logs in.
    pub user: String,
}

/// What a container sees of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub from: Source,
    /// Where the container sees it.
    pub to: String,
    /// Whether it may only be read.
    pub read_only: bool,
    /// Whether it must be the same on every node.
    pub same_content: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Path(String),
    /// An NFS share, mounted by the engine as a volume of this name.
    Nfs {
        /// Name of the volume: `two-node-data`.
        volume: String,
        /// The server's address.
        server: String,
        /// The path that it exports.
        path: String,
        /// Mount options without the address: `vers=4.2,rw`.
        options: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its name: the file `/run/secrets/NAME`.
    pub name: String,
    /// Where its value is read, when it is needed and not before.
    pub from: SecretFrom,
}

/// Where a secret's value is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFrom {
    File(String),
    /// A variable of envdoc's environment.
    Variable(String),
}

impl Node {
    /// How many GPUs the container gets; with `all` as many as the job has processes here.
    pub fn gpu_count(&self) -> u32 {
        match &self.gpus {
            Gpus::None => 0,
            Gpus::All => self.slots,
            Gpus::Count(count) => *count,
            Gpus::These(list) => u32::try_from(list.len()).unwrap_or(u32::MAX),
        }
    }
}

impl ClusterPlan {
    /// Processes of a training job that spans all nodes.
    pub fn world_size(&self) -> u32 {
        self.nodes.iter().map(|node| node.slots).sum()
    }

    /// The name of the image that the containers are made from.
    pub fn image_name(&self) -> &str {
        match &self.image {
            Image::Named(name) => name,
            Image::Built { tag, .. } => tag,
        }
    }
}
