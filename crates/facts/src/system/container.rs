//! Whether envdoc runs inside a container, and in which.
//!
//! Marks that engines leave (`/.dockerenv`) also exist on machines that were made from an image, so a mark
//! alone decides nothing: what makes a container is namespaces of its own. The kernel gives its first
//! namespaces fixed numbers (`include/uapi/linux/nsfs.h`, before that `include/linux/proc_ns.h`), and every
//! process can read its own. A chroot has the namespaces of the machine.

use super::Wsl;
use crate::IntoFact;
use crate::{Fact, environment};
use host::{Host, Reading, Stat};

/// Namespaces that a machine's own processes share with its first process, and their numbers.
const INITIAL: &[(&str, u32)] = &[
    ("pid", 0xEFFF_FFFC),
    ("uts", 0xEFFF_FFFE),
    ("ipc", 0xEFFF_FFFF),
    ("user", 0xEFFF_FFFD),
    ("cgroup", 0xEFFF_FFFB),
];

/// What this process's namespaces say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespaces {
    /// All are the machine's.
    Machine,
    /// Processes are this container's own.
    OwnProcesses,
    /// Processes are the machine's, something else is not: a container with `--pid=host`, or a service in a
    /// sandbox.
    Mixed,
    /// They cannot be read.
    Unreadable,
}

pub(super) fn gather(host: &dyn Host, wsl: &Fact<Wsl>) -> Fact<String> {
    let marks = marks(host);
    let namespaces = namespaces(host);
    match (namespaces, &marks) {
        // `docker run --pid=host --uts=host --ipc=host` on cgroup v1 is left: the control group's path tells
        // it.
        (Namespaces::Machine, _) => in_cgroup(host).map_or(Fact::Absent, Fact::Known),
        // A machine made from an image has the mark, and its services in sandboxes have namespaces of their
        // own.
        (Namespaces::Mixed, Marks::Found(_)) if !own_root(host) => Fact::Absent,
        (_, Marks::Found(name)) => Fact::Known(name.clone()),
        (Namespaces::OwnProcesses, _) => match (wsl, mount_type(host, "/dev").as_deref()) {
            // WSL 2 gives each distribution namespaces of its own in one virtual machine.
            (Fact::Known(_), _) => Fact::Absent,
            (_, Some("devtmpfs")) => Fact::Unknown(
                "this process has a PID namespace of its own, but /dev is the machine's and nothing names a \
                    container"
                    .into(),
            ),
            _ => Fact::Known("container".into()),
        },
        (Namespaces::Mixed, Marks::None) => match mount_type(host, "/").as_deref() {
            // HPC runtimes (enroot) share the machine's processes and bring their own root.
            Some("overlay") => match is_initial(host, "user") {
                Some(false) => Fact::Known("container".into()),
                Some(true) => Fact::Absent,
                // A kernel without user namespaces.
                None if host.stat("/proc/self/ns/user") == Reading::Absent => Fact::Absent,
                None => unreadable("its user namespace could not be read"),
            },
            _ => Fact::Absent,
        },
        (Namespaces::Unreadable, Marks::None) => match mount_type(host, "/") {
            Some(root) if root != "overlay" => Fact::Absent,
            _ => unreadable("its namespaces could not be read"),
        },
        (_, Marks::Unreadable(why)) => unreadable(why),
    }
}

/// Whether this process has control groups of its own, or a root as engines make it.
fn own_root(host: &dyn Host) -> bool {
    let layered = || {
        mount_type(host, "/").is_some_and(|kind| matches!(kind.as_str(), "overlay" | "fuse.fuse-overlayfs"))
    };
    is_initial(host, "cgroup") == Some(false) || in_cgroup(host).is_some() || layered()
}

fn unreadable(why: &str) -> Fact<String> {
    Fact::unknown(format!("could not determine whether this is a container ({why}); set --expect role=…"))
}

/// What engines leave inside their containers.
#[derive(Debug, PartialEq, Eq)]
enum Marks {
    /// The engine's name.
    Found(String),
    /// Looked everywhere; none.
    None,
    /// Could not look; why.
    Unreadable(String),
}

fn marks(host: &dyn Host) -> Marks {
    let variables = match host.environment() {
        Reading::Text(text) => environment::parse(&text),
        _ => Default::default(),
    };
    if variables.contains_key("KUBERNETES_SERVICE_HOST") {
        return Marks::Found("kubernetes".into());
    }
    let mut failed = None;
    for (path, name) in [
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
        ("/.singularity.d", "apptainer"),
    ] {
        match host.stat(path) {
            Reading::Absent => {}
            Reading::Failed(why) => failed = Some(format!("{path}: {why}")),
            _ => return Marks::Found(name.into()),
        }
    }
    // systemd as a container's first process writes down what it runs in; on WSL it writes `wsl`.
    match host.read("/run/systemd/container") {
        Reading::Absent => {}
        Reading::Text(name) if !matches!(name.trim(), "" | "wsl") => return Marks::Found(name.trim().into()),
        Reading::Failed(why) => failed = Some(format!("/run/systemd/container: {why}")),
        _ => {}
    }
    if let Some(name) = in_cgroup(host) {
        return Marks::Found(name);
    }
    if let Reading::Failed(why) = host.read("/proc/self/cgroup") {
        failed = Some(format!("/proc/self/cgroup: {why}"));
    }
    match variables.get("container").map(String::as_str) {
        Some("" | "wsl" | "oci") | None => {}
        Some(name) => return Marks::Found(name.into()),
    }
    match failed {
        Some(why) => Marks::Unreadable(why),
        None => Marks::None,
    }
}

/// The control group's path names the engine where the container sees the machine's hierarchy:
///
/// ```text
/// 12:devices:/docker/4c0e0c7f1f7c9a1d7e6a3e2fd2a7c0b7d6ad0a3c8a9f7c1c7c8e0a1b2c3d4e5f
/// 0::/kubepods.slice/kubepods-besteffort.slice/cri-containerd-….scope
/// ```
fn in_cgroup(host: &dyn Host) -> Option<String> {
    let Reading::Text(text) = host.read("/proc/self/cgroup") else { return None };
    let paths = || text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let names = [
        ("/kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("/docker-", "docker"),
        ("/libpod", "podman"),
        ("/lxc/", "lxc"),
        ("/lxc.payload", "lxc"),
    ];
    names
        .into_iter()
        .find(|(part, _)| paths().any(|path| path.contains(part) && !path.contains("/docker-init")))
        .map(|(_, name)| name.to_owned())
}

fn namespaces(host: &dyn Host) -> Namespaces {
    let Some(own_pid) = is_initial(host, "pid").map(|initial| !initial) else {
        return Namespaces::Unreadable;
    };
    if own_pid {
        return Namespaces::OwnProcesses;
    }
    // A kernel without some kind of namespace has no file for it.
    let others = INITIAL.iter().skip(1).filter_map(|(name, _)| is_initial(host, name));
    if others.into_iter().all(|initial| initial) { Namespaces::Machine } else { Namespaces::Mixed }
}

/// The link `/proc/self/ns/pid` leads to `pid:[4026531836]`.
fn is_initial(host: &dyn Host, name: &str) -> Option<bool> {
    let number = INITIAL.iter().find(|(known, _)| *known == name)?.1;
    let stat = host.stat(&format!("/proc/self/ns/{name}")).json::<Stat>();
    let target = stat.known()?.path.strip_prefix(name)?.strip_prefix(":[")?.strip_suffix(']')?;
    Some(target.parse::<u32>().ok()? == number)
}

/// The type of the file system mounted last at `point`; the fields up to ` - ` vary in number:
///
/// ```text
/// 27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
/// 1204 1122 0:76 / / rw,relatime master:450 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/…
/// ```
fn mount_type(host: &dyn Host, point: &str) -> Option<String> {
    let Reading::Text(text) = host.read("/proc/self/mountinfo") else { return None };
    text.lines()
        .filter(|line| line.split(' ').nth(4) == Some(point))
        .filter_map(|line| line.split_once(" - ")?.1.split(' ').next())
        .next_back()
        .map(str::to_owned)
}
