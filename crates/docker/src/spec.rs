//! What a container is to be, independent of who asks for it: both a compose file and the engine's API are
//! filled from it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// A container as the engine is asked to create it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// The compose project that it belongs to.
    pub project: String,
    /// Its service in that project, and its own name.
    pub name: String,
    pub hostname: String,
    /// Its image, with a tag or digest.
    pub image: String,
    /// The user that the entrypoint runs as, where it is not the image's.
    pub user: Option<String>,
    /// The program that it runs, in place of the image's.
    pub entrypoint: Vec<String>,
    /// Its arguments; empty: the image's are dropped too.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Labels; compose adds its own.
    pub labels: BTreeMap<String, String>,
    /// Files.
    pub volumes: Vec<Volume>,
    pub tmpfs: Vec<Tmpfs>,
    /// Size of /dev/shm in bytes.
    pub shm: u64,
    /// Limits by name (`memlock`), soft and hard alike; -1 is unlimited.
    pub ulimits: Vec<(&'static str, i64)>,
    pub gpus: GpuRequest,
    /// Devices of the machine, each under its own name in the container.
    pub devices: Vec<String>,
    /// Capabilities in addition to the default ones.
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
    /// Where it is mounted in the container.
    pub path: &'static str,
    /// Its mode: 0o755.
    pub mode: u32,
}

/// GPUs as the engine is asked for them: driver `nvidia`, capability `gpu`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuRequest {
    None,
    All,
    /// Any so many: the engine takes the first.
    Count(u32),
    Devices(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerNetwork {
    Host,
    /// This one, which exists before the container does.
    Named {
        /// As the engine lists it, or its id.
        name: String,
        /// The container's further name in it: the node's.
        alias: String,
    },
}

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

/// One container that runs to its end.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub image: String,
    /// Program and arguments, in place of the image's own.
    pub command: Vec<String>,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Whether it may reach the network.
    pub network: bool,
    /// Whether the command writes nothing, so that its root file system can be read-only.
    pub only_reads: bool,
    /// Limits by name, as those of [`Container`]; the engine's own for those that are not named.
    pub ulimits: Vec<(&'static str, i64)>,
    /// Size of /dev/shm in bytes, where it is not the engine's own.
    pub shm: Option<u64>,
    /// The longest that it may take.
    pub deadline: Duration,
}
