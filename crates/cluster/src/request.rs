//! `cluster.yaml`: a cluster, asked for in a file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use diagnostic::error::Error;
use diagnostic::yaml;

/// A request for a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterRequest {
    /// Name of the cluster; the name of the file's directory where it is left out. Lower-case letters, digits
    /// and `-`.
    pub name: Option<String>,
    /// The image that every node runs: `registry.example/team/train:1`. Either this or `build`.
    pub image: Option<String>,
    /// What `up` builds the image from, on the first node's engine, as `envdoc build` does: a request
    /// (`images/multi-node/request.yaml`) or a Dockerfile, seen from this file.
    pub build: Option<String>,
    /// The registry through which the image comes to the nodes: `registry.example:5000/team`. `up` pushes it
    /// there and the nodes pull it; left out, it goes from engine to engine. An `image` must be in it; one
    /// that is built is named in it.
    pub registry: Option<String>,
    /// The machines, the one that leads first: the swarm's manager, rank 0.
    pub nodes: Vec<NodeRequest>,
    /// How the containers reach each other.
    pub network: NetworkRequest,
    /// The SSH server in the containers: there is one where DeepSpeed's launcher needs it, or where this key
    /// is given.
    pub ssh: Option<SshRequest>,
    /// What the containers see of the machines' files.
    pub storage: Vec<Storage>,
    /// What a container may use.
    pub limits: Limits,
    /// Environment of the containers. Nothing secret.
    pub environment: BTreeMap<String, String>,
    /// How training is started: `deepspeed` (over SSH, with a hostfile; the default), `torchrun`, or `none`.
    pub launcher: Option<Launcher>,
    /// Files that the containers get and nobody else: `/run/secrets/NAME`.
    pub secrets: Vec<SecretRequest>,
    /// What the containers run; left out: nothing but the SSH server, until they are stopped.
    pub command: Vec<String>,

    /// Where the request was read: `compose/two-node/cluster.yaml`; set by the program.
    #[serde(skip)]
    pub origin: Option<String>,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeRequest {
    /// Its name, also of its container: `node1`. Lower-case letters, digits and `-`, at least two characters.
    /// Left out: `node1`, `node2`, … by place.
    pub name: Option<String>,
    /// The address by which the other machines reach it: `10.0.18.1`, or a name.
    pub address: String,
    /// Its container engine: `unix:///var/run/docker.sock`, `ssh://user@host:22`, `tcp://host:2376`. Left
    /// out: this machine's own where the address is this machine's, else `ssh://ADDRESS`.
    pub engine: Option<String>,
    /// Directory with `ca.pem`, `cert.pem` and `key.pem` for an engine over TLS, seen from this file.
    pub tls: Option<String>,
    /// Its GPUs that the container gets: `all`, a number of them, or a list of indexes or UUIDs. Left out:
    /// `all`; `0` for none.
    pub gpus: Option<GpusRequest>,
    /// Processes of a training job on it; the number of its GPUs where that is known from `gpus`, 1 without a
    /// GPU. Must be said with `all`.
    pub slots: Option<u32>,
    /// Labels of its container.
    pub labels: BTreeMap<String, String>,
    /// Environment of its container, in addition to the cluster's.
    pub environment: BTreeMap<String, String>,
}

/// GPUs of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GpusRequest {
    /// So many; `0`: none.
    Count(u32),
    /// `all`.
    Word(String),
    /// These: indexes or UUIDs.
    These(Vec<GpuRequest>),
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GpuRequest {
    /// The one that `nvidia-smi` counts so.
    Index(u32),
    /// The one with this UUID.
    Uuid(String),
}

/// How the containers reach each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkRequest {
    /// `overlay` (a swarm's, made by `up`; the default), `host` (the machines' own), or `existing` (an
    /// attachable one of this name).
    pub kind: Option<NetworkKind>,
    /// Its name; `NAME-net` of the cluster where it is left out.
    pub name: Option<String>,
    /// Largest packet in bytes inside the overlay; left out: the machines' smallest less what VXLAN takes
    /// (50), and IPsec where it is encrypted.
    pub mtu: Option<u32>,
    /// Whether the overlay's traffic is encrypted (IPsec); it costs bandwidth.
    pub encrypted: bool,
    /// Its addresses: `10.20.0.0/24`; left out: the engine chooses.
    pub subnet: Option<String>,
    /// The interface that NCCL and Gloo use, where it shall not be found by looking: `ib0`.
    pub interface: Option<String>,
    /// Whether the containers get the machines' InfiniBand devices (/dev/infiniband, IPC_LOCK, unlimited
    /// memlock).
    pub infiniband: bool,
}

/// Kinds of network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// An overlay of a swarm.
    #[default]
    Overlay,
    /// The machines' own network.
    Host,
    /// A network that is there already.
    Existing,
}

/// The SSH server in the containers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SshRequest {
    /// The port that it listens on; 2222 unless said otherwise.
    pub port: Option<u16>,
    /// The user that logs in; `root` unless said otherwise.
    pub user: Option<String>,
}

/// Something of a machine's files, or a share, in the container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// A path of the machines: `/srv/code`. Either this or `nfs`.
    pub from: Option<String>,
    /// A share that every node mounts: `10.0.18.1:/export/data`.
    pub nfs: Option<String>,
    /// NFS mount options without the address: `vers=4.2,rw`.
    pub options: Option<String>,
    /// Where the containers see it: `/workspace`.
    pub to: String,
    /// Whether the containers may only read it.
    pub read_only: bool,
    /// `same-content`: `cluster check` and `up` compare what lies there on every node.
    pub check: Option<StorageCheck>,
}

/// What is compared of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StorageCheck {
    /// The same files with the same content on every node.
    SameContent,
}

/// What a container may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Size of /dev/shm: `16g`; where it is left out, 1 GiB and 4 GiB more for every GPU.
    pub shm: Option<String>,
    /// Memory that may be pinned: `unlimited` (the default), or a size.
    pub memlock: Option<String>,
    /// Open files; 1048576 unless said otherwise.
    pub nofile: Option<u64>,
}

/// How training is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    /// DeepSpeed's: over SSH (pdsh) from the first node, with a hostfile.
    #[default]
    Deepspeed,
    /// torchrun on every node, with a rendezvous on the first one.
    Torchrun,
    /// None: the containers run `command`.
    None,
}

/// A secret of the containers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretRequest {
    /// Its name: the file /run/secrets/NAME.
    pub name: String,
    /// The file of this machine that holds it, seen from this file. Either this or `variable`.
    pub file: Option<String>,
    /// The variable of envdoc's environment that holds it.
    pub variable: Option<String>,
}

impl ClusterRequest {
    /// Reads a file; `name` is how the file is called in messages.
    pub fn parse(name: &str, text: &str) -> Result<ClusterRequest, Error> {
        yaml::parse(name, text)
    }
}
