//! `cluster.yaml`: a cluster, asked for in a file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use diagnostic::error::Error;
use diagnostic::yaml;

/// `cluster.yaml`: the nodes of a cluster and what their containers run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterRequest {
    /// Name of the cluster [default: the name of the file's directory]. Lower-case letters, digits and `-`.
    pub name: Option<String>,
    /// Image that every node runs: `registry.example/team/train:1`. Set either this or `build`.
    pub image: Option<String>,
    /// Request file (`images/multi-node/request.yaml`) or Dockerfile from which `up` builds the image with
    /// the first node's engine, as `envdoc build` does. The path is relative to cluster.yaml.
    pub build: Option<String>,
    /// Registry that distributes the image: `registry.example:5000/team`. `up` pushes the image there, and
    /// the nodes pull it. Without it, the image is copied from engine to engine. `image` must be in this
    /// registry; a built image is tagged with it.
    pub registry: Option<String>,
    /// Machines of the cluster. The first one is the swarm manager and runs rank 0.
    pub nodes: Vec<NodeRequest>,
    /// Network between the containers.
    pub network: NetworkRequest,
    /// SSH server in the containers. It runs if the DeepSpeed launcher needs it, or if this key is set.
    pub ssh: Option<SshRequest>,
    /// Directories of the machines and NFS shares to mount in the containers.
    pub storage: Vec<Storage>,
    /// Resource limits of a container.
    pub limits: Limits,
    /// Environment variables of the containers. Not for secrets.
    pub environment: BTreeMap<String, String>,
    /// Launcher of training jobs: `deepspeed` (over SSH, with a hostfile), `torchrun` or `none` [default:
    /// `deepspeed`].
    pub launcher: Option<Launcher>,
    /// Secret files, readable only in the containers: `/run/secrets/NAME`.
    pub secrets: Vec<SecretRequest>,
    /// Command of the containers [default: only the SSH server, until the container is stopped].
    pub command: Vec<String>,

    /// Where the request was read: `compose/two-node/cluster.yaml`; set by the program.
    #[serde(skip)]
    pub origin: Option<String>,
}

/// A machine of the cluster: how it is reached and what its container gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeRequest {
    /// Name of the node and of its container: `node1` [default: `node1`, `node2`, … in order]. Lower-case
    /// letters, digits and `-`, at least two characters.
    pub name: Option<String>,
    /// Address at which the other machines reach it: `10.0.18.1`, or a host name.
    pub address: String,
    /// Docker engine: `unix:///var/run/docker.sock`, `ssh://user@host:22` or `tcp://host:2376` [default: the
    /// local engine if `address` is this machine, else `ssh://ADDRESS`].
    pub engine: Option<String>,
    /// Directory with `ca.pem`, `cert.pem` and `key.pem` for an engine over TLS. The path is relative to
    /// cluster.yaml.
    pub tls: Option<String>,
    /// GPUs for the container: `all`, a number (`0` for none), or a list of indexes or UUIDs [default:
    /// `all`].
    pub gpus: Option<GpusRequest>,
    /// Number of training processes on the node [default: the number of GPUs, 1 without a GPU]. Required
    /// with `gpus: all`.
    pub slots: Option<u32>,
    /// Labels of the container.
    pub labels: BTreeMap<String, String>,
    /// Environment variables of this node's container, in addition to those of the cluster.
    pub environment: BTreeMap<String, String>,
}

/// The GPUs that the container of a node gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GpusRequest {
    /// The first so many; `0`: none.
    Count(u32),
    /// `all`: every GPU of the machine.
    Word(String),
    /// These GPUs, by index or UUID.
    These(Vec<GpuRequest>),
}

/// A GPU by its index or UUID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GpuRequest {
    /// Its index in `nvidia-smi -L`, from 0.
    Index(u32),
    /// Its UUID in `nvidia-smi -L`: `GPU-…`, `MIG-…`.
    Uuid(String),
}

/// How the containers reach each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkRequest {
    /// `overlay` (a swarm overlay that `up` creates), `host` (the host network), or `existing` (an
    /// attachable network of this name) [default: `overlay`].
    pub kind: Option<NetworkKind>,
    /// Name of the network [default: the name of the cluster with `-net`].
    pub name: Option<String>,
    /// MTU of the overlay in bytes [default: the smallest MTU of the machines, minus 50 for VXLAN and, with
    /// `encrypted`, the IPsec overhead].
    pub mtu: Option<u32>,
    /// Encrypt the overlay's traffic with IPsec; this reduces bandwidth.
    pub encrypted: bool,
    /// Subnet of the network: `10.20.0.0/24` [default: chosen by the engine].
    pub subnet: Option<String>,
    /// Interface for NCCL and Gloo: `ib0` [default: detected].
    pub interface: Option<String>,
    /// Pass the InfiniBand devices to the containers (/dev/infiniband, IPC_LOCK, unlimited memlock).
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
    /// Port of the SSH server [default: 2222].
    pub port: Option<u16>,
    /// User that logs in over SSH [default: `root`].
    pub user: Option<String>,
}

/// Something of a machine's files, or a share, in the container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// Path on the machines: `/srv/code`. Set either this or `nfs`.
    pub from: Option<String>,
    /// NFS share that every node mounts: `10.0.18.1:/export/data`.
    pub nfs: Option<String>,
    /// NFS mount options without the address: `vers=4.2,rw`.
    pub options: Option<String>,
    /// Mount point in the containers: `/workspace`.
    pub to: String,
    /// Mount read-only.
    pub read_only: bool,
    /// `same-content`: `cluster check` and `up` verify that every node has the same files there.
    pub check: Option<StorageCheck>,
}

/// What is compared of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StorageCheck {
    /// The same files with the same content on every node.
    SameContent,
}

/// Limits of each container: shared memory, locked memory, open files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Size of /dev/shm: `16g` [default: 1 GiB plus 4 GiB per GPU].
    pub shm: Option<String>,
    /// Limit of locked memory: `unlimited`, or a size [default: `unlimited`].
    pub memlock: Option<String>,
    /// Limit of open files [default: 1048576].
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
    /// Name of the file below /run/secrets.
    pub name: String,
    /// File on this machine that contains the secret. The path is relative to cluster.yaml. Set either this
    /// or `variable`.
    pub file: Option<String>,
    /// Environment variable of envdoc that contains the secret.
    pub variable: Option<String>,
}

impl ClusterRequest {
    /// Reads a file; `name` is how the file is called in messages.
    pub fn parse(name: &str, text: &str) -> Result<ClusterRequest, Error> {
        yaml::parse(name, text)
    }
}
