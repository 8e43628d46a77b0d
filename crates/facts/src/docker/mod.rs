//! The container engine: program, endpoint, daemon, configuration.

mod address;
mod command_line;
mod daemon_json;
pub mod endpoint;
mod idle;
mod state;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::service_path::in_service_path;
use crate::{Fact, IntoFact};
use catalog::Catalog;
use host::{Host, Space, Stat};

pub use address::{Endpoint, EndpointFault, SshAddress, Target, TcpAddress, Tls};
pub use command_line::{Unit, flags};
pub use daemon_json::{DaemonJson, DaemonJsonError};
pub use endpoint::{EndpointSource, SelectedEndpoint};
pub(crate) use idle::IDLE;
use idle::{Idle, idle};
pub use state::{ENGINE_WITH_GPUS_BY_CDI, State};

/// Docker, or Podman behind Docker's socket.
#[derive(Debug, Clone)]
pub struct Docker {
    /// Path of the `docker` program, links followed; absent when not on PATH.
    pub program: Fact<String>,
    /// Path of `dockerd`; absent when neither on PATH nor in `/usr/sbin` or `/usr/local/bin`.
    pub daemon_program: Fact<String>,
    /// The endpoint that the `docker` program would ask, and why it (DOCKER_HOST, the context of
    /// `~/.docker/config.json`, rootless socket, default).
    pub endpoint: Fact<SelectedEndpoint>,
    /// The endpoint that envdoc asked: the same, or this machine's own socket where that is elsewhere.
    pub asked: Fact<Endpoint>,
    /// That endpoint's socket file; absent when there is none, or when the endpoint is no socket.
    pub socket: Fact<Stat>,
    /// Nothing was asked because the engine does not run and the question would have made systemd start it
    /// (`docker.socket`).
    pub idle: Fact<bool>,
    /// `GET /info` as the engine wrote it. Absent: no socket. Unknown: no permission, nobody listens, no
    /// answer.
    pub info: Fact<Value>,
    /// `GET /version`.
    pub version: Fact<Value>,
    /// `/etc/docker/daemon.json` (or the file after `--config-file`); absent when there is none.
    pub daemon_json: Fact<DaemonJson>,
    /// The running daemon's command line (`/proc/PID/cmdline`, found through `/var/run/docker.pid` or
    /// `/run/docker.pid`); absent when none runs.
    pub command_line: Fact<Vec<String>>,
    /// When the running daemon started, seconds since 1970 (`/proc/PID/stat` and `/proc/stat`'s btime).
    pub started: Fact<i64>,
    /// Space where the images lie; absent where that is inside Docker Desktop's virtual machine.
    pub data_root: Fact<DataRoot>,
    /// `HTTP_PROXY` and the like that the daemon itself has: `/info` (HttpProxy, HttpsProxy). Empty when it
    /// has none.
    pub proxies: Fact<Vec<String>>,
    /// Members of the group `docker`, and its id: `/etc/group`. Absent when there is no such group.
    pub group: Fact<Group>,
    /// Whether `docker` or `dockerd` come from snap (path below `/snap`, or `/snap/docker` exists).
    pub snap: Fact<bool>,
    /// Podman's socket (`/run/podman/podman.sock`, or the user's).
    pub podman_socket: Fact<String>,
    /// Path of the `podman` program.
    pub podman: Fact<String>,
    /// Path of the unit file of `docker.service`; absent when there is none.
    pub unit_file: Fact<String>,
    /// Whether there is an init script (`/etc/init.d/docker`).
    pub init_script: Fact<bool>,
    /// The command line that the unit and its drop-ins start.
    pub unit: Fact<Unit>,
    /// Runtimes of `daemon.json` that name a path: name, path, and whether it exists.
    pub runtime_paths: Fact<Vec<RuntimePath>>,
    /// The kubelet's cgroup driver: `/var/lib/kubelet/config.yaml`. Absent when no kubelet is configured
    /// here.
    pub kubelet_cgroup_driver: Fact<String>,
    /// Whether a kubelet runs its containers in Docker: the socket `/run/cri-dockerd.sock`.
    pub kubelet_uses_docker: Fact<bool>,
    /// What else runs containers here, where no dockerd is installed: `containerd`, `kubelet`, `enroot`, …
    pub others: Fact<Vec<String>>,
}

/// A runtime of `daemon.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimePath {
    /// `nvidia`.
    pub name: String,
    /// As written in the file: a path, or a name that dockerd looks for on its PATH.
    pub path: String,
    /// Where it is; absent when it is nowhere.
    pub found: Fact<String>,
}

/// The directory with images, containers and volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRoot {
    /// Its path: the engine's data root, or containerd's where the engine keeps its images there.
    pub path: String,
    /// Bytes in all and free.
    pub space: Space,
}

/// A group of `/etc/group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Number in the third field of its line; the socket file has it as its group.
    pub gid: u32,
    /// Users named in it.
    pub members: Vec<String>,
}

impl Docker {
    /// A text field of `/info`, by path: `["Swarm", "LocalNodeState"]`. Absent when the engine does not send
    /// it or sends "".
    pub fn info_text(&self, path: &[&str]) -> Fact<String> {
        self.info.as_ref().and_then(|info| match lookup(info, path).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Fact::Known(text.to_owned()),
            _ => Fact::Absent,
        })
    }

    /// Any field of `/info`; absent when the engine does not send it or sends null.
    pub fn info_value(&self, path: &[&str]) -> Fact<&Value> {
        self.info.as_ref().and_then(|info| match lookup(info, path) {
            Some(Value::Null) | None => Fact::Absent,
            Some(value) => Fact::Known(value),
        })
    }

    /// Whether Podman answers in Docker's place: its `/info` or `/version` says so, or `docker` is a link to
    /// it.
    pub fn is_podman(&self) -> bool {
        let component = self.version.known().and_then(|v| v.get("Components")?.get(0)?.get("Name")?.as_str());
        component.is_some_and(|name| name.contains("Podman"))
            || self.info.known().is_some_and(|info| info.get("BuildahVersion").is_some())
            || self.program.known().is_some_and(|path| path.ends_with("/podman"))
    }

    /// Whether Docker Desktop answers: its engine runs in a virtual machine of its own, with its own files.
    pub fn is_desktop(&self) -> bool {
        self.info_text(&["OperatingSystem"]).known().is_some_and(|name| name.starts_with("Docker Desktop"))
    }

    /// Whether the engine that was asked runs without root rights.
    pub fn rootless(&self) -> Fact<bool> {
        self.info.as_ref().map(|info| {
            let options = info.get("SecurityOptions").and_then(Value::as_array);
            options.is_some_and(|all| all.iter().any(|o| o.as_str().is_some_and(|o| o.contains("rootless"))))
        })
    }

    /// Directories in which the engine looks for CDI specifications: empty when CDI is off or unknown to it.
    pub fn cdi_directories(&self) -> Fact<Vec<String>> {
        self.info.as_ref().map(|info| texts(info.get("CDISpecDirs")))
    }

    /// The value of `daemon.json`, where it is one.
    pub fn configured(&self) -> Fact<&Value> {
        self.daemon_json.as_ref().and_then(|file| match &file.value {
            Ok(value) => Fact::Known(value),
            Err(_) => Fact::unknown(format!("{} is not valid JSON", file.path)),
        })
    }
}

fn lookup<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The strings of a JSON list; empty for anything else.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Docker {
    let variables = host.environment().text().map(|text| super::environment::parse(&text));
    let program = host.program("docker").text().and_then(|path| real(host, path));
    let daemon_program = host.program("dockerd").text().or_look(|| in_service_path(host, "dockerd"));
    let endpoint = endpoint::find(host, &variables);
    let asked = match &endpoint {
        Fact::Known(endpoint) if endpoint.elsewhere => Fact::Known(Endpoint::default()),
        other => other.as_ref().map(|endpoint| endpoint.url.clone()),
    };
    let rootless = rootless_directories(&asked, &variables);
    let pid = command_line::pid(host, rootless.as_ref().map(|(_, run)| run.as_str()));
    let command_line = pid.as_ref().and_then(|pid| command_line::of(host, *pid));
    let started = match (&pid, &command_line) {
        (Fact::Known(pid), Fact::Known(_)) => command_line::started(host, *pid),
        (_, other) => other.as_ref().and_then(|_| Fact::Absent),
    };
    let unit_file = command_line::unit_file(host);
    let unit = unit_file.as_ref().and_then(|path| command_line::unit(host, path));
    let socket = asked.as_ref().and_then(|endpoint| match endpoint.socket() {
        Some(path) => host.stat(path).json::<Stat>(),
        None => Fact::Absent,
    });
    let idle = idle(host, &asked, &socket, &command_line);
    let (info, version) = ask(host, &asked, &socket, &idle);
    let daemon_json = daemon_json::find(
        catalog,
        host,
        &command_line,
        &unit,
        rootless.as_ref().map(|(config, _)| config.as_str()),
    );
    let data_root = data_root(host, &info, &daemon_json);
    let proxies = info.as_ref().map(|info| {
        let set =
            |key: &str| info.get(key).and_then(Value::as_str).filter(|v| !v.is_empty()).map(str::to_owned);
        ["HttpProxy", "HttpsProxy"].into_iter().filter_map(set).collect()
    });
    let snap = snap(host, &program, &daemon_program);
    Docker {
        group: host.read("/etc/group").text().and_then(|text| group(&text, "docker")),
        podman_socket: podman_socket(host, &variables),
        podman: host.program("podman").text(),
        runtime_paths: runtime_paths(host, &daemon_json),
        kubelet_cgroup_driver: kubelet(host),
        init_script: host.stat("/etc/init.d/docker").text().map(|_| true).absent_as(false),
        others: match (&daemon_program, &unit_file) {
            (Fact::Absent, Fact::Absent) => others(host),
            _ => Fact::Absent,
        },
        kubelet_uses_docker: host.stat("/run/cri-dockerd.sock").text().map(|_| true).absent_as(false),
        program,
        daemon_program,
        endpoint,
        asked,
        socket,
        idle: idle.known,
        info,
        version,
        daemon_json,
        command_line,
        started,
        data_root,
        proxies,
        snap,
        unit_file,
        unit,
    }
}

fn ask(
    host: &dyn Host,
    asked: &Fact<Endpoint>,
    socket: &Fact<Stat>,
    idle: &Idle,
) -> (Fact<Value>, Fact<Value>) {
    let endpoint = match asked {
        Fact::Known(endpoint) => endpoint,
        Fact::Absent => return (Fact::Absent, Fact::Absent),
        Fact::Unknown(why) => return (Fact::Unknown(why.clone()), Fact::Unknown(why.clone())),
    };
    if endpoint.socket().is_some() && *socket == Fact::Absent {
        return (Fact::Absent, Fact::Absent);
    }
    match &idle.known {
        Fact::Known(true) => return (Fact::unknown(IDLE), Fact::unknown(IDLE)),
        Fact::Unknown(why) if idle.may_start => {
            return (Fact::Unknown(why.clone()), Fact::Unknown(why.clone()));
        }
        _ => {}
    }
    let get = |path| host.engine(endpoint.as_str(), path).json::<Value>().about(endpoint.as_str());
    // In parallel: each takes the engine several milliseconds.
    let (info, version) = std::thread::scope(|scope| {
        let version = scope.spawn(|| get("/version"));
        (get("/info"), version.join().unwrap_or_else(|_| Fact::unknown("envdoc crashed while asking")))
    });
    match &info {
        Fact::Known(_) => (info, version),
        other => (other.clone(), other.clone()),
    }
}

/// Where a rootless engine of this user has its configuration and its process id, when it is the one that is
/// asked.
fn rootless_directories(
    asked: &Fact<Endpoint>,
    variables: &Fact<std::collections::BTreeMap<String, String>>,
) -> Option<(String, String)> {
    let variables = variables.known()?;
    let run = variables.get("XDG_RUNTIME_DIR")?.trim_end_matches('/');
    if *asked.known()? != Endpoint::unix(format!("{run}/docker.sock")) {
        return None;
    }
    let config = match variables.get("XDG_CONFIG_HOME") {
        Some(dir) => dir.clone(),
        None => format!("{}/.config", variables.get("HOME")?.trim_end_matches('/')),
    };
    Some((format!("{config}/docker"), run.to_owned()))
}

/// A path with its links followed.
fn real(host: &dyn Host, path: String) -> Fact<String> {
    Fact::Known(host.stat(&path).json::<Stat>().known().map_or(path, |stat| stat.path.clone()))
}

fn data_root(host: &dyn Host, info: &Fact<Value>, file: &Fact<DaemonJson>) -> Fact<DataRoot> {
    if info
        .known()
        .and_then(|info| info.get("OperatingSystem")?.as_str())
        .is_some_and(|os| os.starts_with("Docker Desktop"))
    {
        return Fact::Absent;
    }
    let from_info = info.known().map(images_directory);
    let from_file = || {
        let value = file.known()?.value.as_ref().ok()?;
        Some(value.get("data-root").or_else(|| value.get("graph"))?.as_str()?.to_owned())
    };
    let mut path = match (from_info, file) {
        (Some(path), _) => path,
        (None, Fact::Unknown(why)) => return Fact::Unknown(why.clone()),
        (None, Fact::Known(file)) if file.value.is_err() => {
            return Fact::unknown(format!("{} is not valid JSON, and no engine answers", file.path));
        }
        _ => from_file().unwrap_or_else(|| "/var/lib/docker".to_owned()),
    };
    let wanted = path.clone();
    loop {
        match host.space(&path).json::<Space>() {
            Fact::Known(space) => return Fact::Known(DataRoot { path: wanted, space }),
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(path.to_string())),
            // Not made yet: it will lie where its parent does.
            Fact::Absent => match path.rfind('/') {
                Some(at) if path.len() > 1 => path.truncate(at.max(1)),
                _ => return Fact::Absent,
            },
        }
    }
}

/// Where an engine keeps image data: its data root, or the root of the containerd that it was given, if it
/// uses the containerd image store (the default of new installations from Docker 29 on).
///
/// `"DriverStatus":[["driver-type","io.containerd.snapshotter.v1"]]`,
/// `"Containerd":{"Address":"/run/containerd/containerd.sock"}`
fn images_directory(info: &Value) -> String {
    let status = info.get("DriverStatus").and_then(Value::as_array);
    let snapshotter = status.is_some_and(|rows| {
        rows.iter().any(|row| {
            row.get(1).and_then(Value::as_str).is_some_and(|v| v.starts_with("io.containerd.snapshotter"))
        })
    });
    let address = lookup(info, &["Containerd", "Address"]).and_then(Value::as_str);
    if snapshotter && address == Some("/run/containerd/containerd.sock") {
        return "/var/lib/containerd".to_owned();
    }
    info.get("DockerRootDir")
        .and_then(Value::as_str)
        .filter(|p| !p.is_empty())
        .unwrap_or("/var/lib/docker")
        .to_owned()
}

fn snap(host: &dyn Host, program: &Fact<String>, daemon: &Fact<String>) -> Fact<bool> {
    let from_snap = |path: &Fact<String>| path.known().is_some_and(|path| path.starts_with("/snap/"));
    if from_snap(program) || from_snap(daemon) {
        return Fact::Known(true);
    }
    let installed = host.stat("/snap/docker").json::<Stat>().map(|_| true);
    installed.or_else(|| match (program, daemon) {
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why.clone()),
        _ => Fact::Known(false),
    })
}

fn podman_socket(
    host: &dyn Host,
    variables: &Fact<std::collections::BTreeMap<String, String>>,
) -> Fact<String> {
    let there = |path: String| host.stat(&path).json::<Stat>().map(|_| path);
    there("/run/podman/podman.sock".to_owned()).or_look(|| {
        variables.as_ref().and_then(|variables| match variables.get("XDG_RUNTIME_DIR") {
            Some(dir) => there(format!("{dir}/podman/podman.sock")),
            None => Fact::Absent,
        })
    })
}

fn runtime_paths(host: &dyn Host, file: &Fact<DaemonJson>) -> Fact<Vec<RuntimePath>> {
    file.as_ref().and_then(|file| {
        let Ok(value) = &file.value else { return Fact::unknown(format!("{} is not valid JSON", file.path)) };
        let Some(runtimes) = value.get("runtimes").and_then(Value::as_object) else {
            return Fact::Known(Vec::new());
        };
        let named = runtimes.iter().filter_map(|(name, runtime)| {
            let path = runtime.get("path")?.as_str()?.to_owned();
            let found = if path.contains('/') {
                host.stat(&path).json::<Stat>().map(|_| path.clone())
            } else {
                in_service_path(host, &path)
            };
            Some(RuntimePath { name: name.clone(), path, found })
        });
        Fact::Known(named.collect())
    })
}

/// Engines and starters of containers that are not Docker: on nodes of Kubernetes and Slurm dockerd is often
/// missing.
fn others(host: &dyn Host) -> Fact<Vec<String>> {
    const FILES: &[(&str, &str)] = &[
        ("/run/containerd/containerd.sock", "containerd"),
        ("/run/k3s/containerd/containerd.sock", "k3s"),
        ("/run/crio/crio.sock", "CRI-O"),
        ("/var/lib/kubelet/config.yaml", "kubelet"),
    ];
    const PROGRAMS: &[&str] =
        &["kubelet", "containerd", "nerdctl", "enroot", "apptainer", "singularity", "slurmd", "sbatch"];
    let files = FILES.iter().map(|(path, name)| (host.stat(path).text(), *name));
    let programs = PROGRAMS.iter().map(|name| (host.program(name).text(), *name));
    let (mut found, mut unknown) = (Vec::new(), None);
    for (there, name) in files.chain(programs) {
        match there {
            Fact::Known(_) if !found.iter().any(|one| one == name) => found.push(name.to_owned()),
            Fact::Unknown(why) => unknown = Some(why),
            _ => {}
        }
    }
    match unknown {
        Some(why) if found.is_empty() => Fact::Unknown(why),
        _ => Fact::Known(found),
    }
}

/// `cgroupDriver: systemd` in `/var/lib/kubelet/config.yaml`; the kubelet's own default is cgroupfs.
fn kubelet(host: &dyn Host) -> Fact<String> {
    host.read("/var/lib/kubelet/config.yaml").text().about("/var/lib/kubelet/config.yaml").map(|text| {
        let set = text.lines().find_map(|line| line.strip_prefix("cgroupDriver:"));
        set.map_or("cgroupfs", |value| value.trim().trim_matches(['"', '\''])).to_owned()
    })
}

/// A group of `/etc/group`: `docker:x:999:alice,bob`.
fn group(text: &str, name: &str) -> Fact<Group> {
    for line in text.lines() {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            continue;
        }
        let (_, gid, members) = (fields.next(), fields.next(), fields.next());
        let Some(gid) = gid.and_then(|gid| gid.parse().ok()) else {
            return Fact::unknown(format!("/etc/group: {line:?} has no group id"));
        };
        let members =
            members.unwrap_or_default().split(',').filter(|m| !m.is_empty()).map(str::to_owned).collect();
        return Fact::Known(Group { gid, members });
    }
    Fact::Absent
}
