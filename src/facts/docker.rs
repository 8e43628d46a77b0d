//! The container engine: program, daemon, configuration.

use super::Fact;
use crate::host::Host;
use serde_json::Value;

/// Docker, or Podman where its socket stands in.
#[derive(Debug, Clone)]
pub struct Docker {
    /// Path of the `docker` program, links followed; absent when not on PATH.
    pub program: Fact<String>,
    /// Path of `dockerd`; absent when not on PATH.
    pub daemon_program: Fact<String>,
    /// The endpoint that was asked and why it (DOCKER_HOST, the context of `~/.docker/config.json`, rootless socket, default).
    pub endpoint: Fact<Endpoint>,
    /// The engine's socket file (`/var/run/docker.sock`); absent when there is none.
    pub socket: Fact<crate::host::Stat>,
    /// `GET /info` as the engine wrote it. Absent: no socket. Unknown: no permission, nobody listens, no answer.
    pub info: Fact<Value>,
    /// `GET /version`.
    pub version: Fact<Value>,
    /// `/etc/docker/daemon.json` (or the file after `--config-file`); absent when there is none.
    pub daemon_json: Fact<DaemonJson>,
    /// The running daemon's command line (`/proc/PID/cmdline`, found through `/var/run/docker.pid` or `/run/docker.pid`);
    /// absent when none runs.
    pub command_line: Fact<Vec<String>>,
    /// When the running daemon started, seconds since 1970 (`/proc/PID/stat` and `/proc/stat`'s btime).
    pub started: Fact<i64>,
    /// Space where the data root lies.
    pub data_root: Fact<DataRoot>,
    /// `HTTP_PROXY` and the like that the daemon itself has: `/info` (HttpProxy, HttpsProxy).
    pub proxies: Fact<Vec<String>>,
    /// Members of the group `docker`, and its id: `/etc/group`. Absent when there is no such group.
    pub group: Fact<Group>,
    /// Whether `docker` or `dockerd` come from snap (path below `/snap`, or `/snap/docker` exists).
    pub snap: Fact<bool>,
    /// Podman's socket (`/run/podman/podman.sock`, or the user's).
    pub podman_socket: Fact<String>,
    /// State of the unit `docker.service` as its cgroup and unit files show it: `unit file present`; absent when there is none.
    pub unit_file: Fact<String>,
}

/// Where the engine is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `unix:///var/run/docker.sock`.
    pub url: String,
    /// `DOCKER_HOST`, `context NAME`, `rootless`, `default`.
    pub from: String,
}

/// `daemon.json`, raw and parsed.
#[derive(Debug, Clone)]
pub struct DaemonJson {
    /// Its path.
    pub path: String,
    /// As it stands.
    pub text: String,
    /// Parsed, or what is wrong where.
    pub value: Result<Value, DaemonJsonError>,
    /// Last change, seconds since 1970.
    pub modified: Fact<i64>,
}

/// Where a `daemon.json` stops being JSON, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonJsonError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub says: String,
}

/// The data root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRoot {
    /// Its path.
    pub path: String,
    /// Bytes in all and free.
    pub space: crate::host::Space,
}

/// A group of `/etc/group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its id.
    pub gid: u32,
    /// Users named in it.
    pub members: Vec<String>,
}

impl Docker {
    /// A text field of `/info`, by path: `["Swarm", "LocalNodeState"]`. Absent when the engine does not send it or sends "".
    pub fn info_text(&self, path: &[&str]) -> Fact<String> {
        self.info.as_ref().and_then(|info| match lookup(info, path).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Fact::Known(text.to_owned()),
            _ => Fact::Absent,
        })
    }
}

fn lookup<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Docker {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Docker {
        program: Fact::Unknown(unknown()),
        daemon_program: Fact::Unknown(unknown()),
        endpoint: Fact::Unknown(unknown()),
        socket: Fact::Unknown(unknown()),
        info: Fact::Unknown(unknown()),
        version: Fact::Unknown(unknown()),
        daemon_json: Fact::Unknown(unknown()),
        command_line: Fact::Unknown(unknown()),
        started: Fact::Unknown(unknown()),
        data_root: Fact::Unknown(unknown()),
        proxies: Fact::Unknown(unknown()),
        group: Fact::Unknown(unknown()),
        snap: Fact::Unknown(unknown()),
        podman_socket: Fact::Unknown(unknown()),
        unit_file: Fact::Unknown(unknown()),
    }
}
