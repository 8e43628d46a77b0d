//! What the answer to a question may reveal. Decides what a redacted snapshot keeps of it.

/// How private a reading is. Everything that is not known to be less is [`Sensitivity::Private`]. All but
/// [`Sensitivity::Number`] and [`Sensitivity::DeviceBytes`] are searched for credentials and names; most keep
/// only what their form allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sensitivity {
    /// What the kernel and tools of the driver write: versions, states, sizes; four numbers are versions.
    Technical,
    /// The clock.
    Number,
    /// Bytes of a device's configuration space in hexadecimal.
    DeviceBytes,
    /// Paths and names of files.
    Paths,
    /// Addresses and names of machines.
    Network,
    /// Free text or settings of a service.
    Settings,
    /// `NAME=value` a line: a value stays only where its name is known to hold nothing private.
    Variables,
    /// pip's and uv's configuration: a value stays only where its key is known.
    Packages,
    /// A systemd unit: what starts the service, and its variables.
    Unit,
    /// The command line of a process: known flags of dockerd.
    Process,
    /// dockerd's `daemon.json`.
    DaemonJson,
    /// `config.json` of the docker program: logins to registries. Only the name of the context stays.
    DockerConfig,
    /// `meta.json` of a context: its name and its endpoint.
    DockerContext,
    /// The kubelet's configuration: only its cgroup driver stays.
    Kubelet,
    /// The answer of a container engine.
    Engine,
    /// A specification of the Container Device Interface: known words stay.
    Cdi,
    /// `config.toml` of the container toolkit: known words stay.
    Toolkit,
    /// The kernel's command line.
    KernelParameters,
    /// The kernel's log: records of drivers, errors of the bus, kills for memory.
    KernelLog,
    /// modprobe.d
    ModuleOptions,
    /// `modinfo`
    ModuleInfo,
    /// `/proc/self/mountinfo`
    Mounts,
    /// `/proc/net/unix`
    Sockets,
    /// `nvidia-smi`: names of processes are hidden.
    GpuReport,
    /// os-release
    OsRelease,
    /// nsswitch.conf
    NameServices,
    /// ld.so.conf
    Loader,
    /// METADATA of Python packages, dpkg's status: names and versions.
    PackageNames,
    /// The record of a conda package: name and version.
    CondaPackage,
    /// `version.json` of the CUDA toolkit.
    VersionJson,
    /// `torch/version.py`
    TorchVersion,
    /// `pyvenv.cfg`
    VirtualEnvironment,
    /// A script of pyenv.
    Shim,
    /// A word a line.
    Words,
    /// Rules of a firewall, without comments.
    Firewall,
    /// Not known: nothing of it stays.
    Private,
}

use Sensitivity::{
    Cdi, CondaPackage, DaemonJson, DeviceBytes, DockerConfig, DockerContext, Engine, Firewall, GpuReport,
    KernelLog, KernelParameters, Kubelet, Loader, ModuleInfo, ModuleOptions, Mounts, NameServices, Network,
    Number, OsRelease, PackageNames, Packages, Paths, Private, Process, Shim, Sockets, Technical, Toolkit,
    TorchVersion, Unit, Variables, VersionJson, VirtualEnvironment, Words,
};

/// Questions by their first word.
const KINDS: &[(&str, Sensitivity)] = &[
    ("environment", Variables),
    ("engine", Engine),
    ("hex", DeviceBytes),
    ("clock", Number),
    ("list", Paths),
    ("find", Paths),
    ("stat", Paths),
    ("space", Paths),
    ("program", Paths),
];

/// Programs by the beginning of their command line.
const PROGRAMS: &[(&str, Sensitivity)] = &[
    ("nvidia-smi ", GpuReport),
    ("nvidia-ctk ", Technical),
    ("nv-fabricmanager ", Technical),
    ("nvcc ", Technical),
    ("modinfo ", ModuleInfo),
    ("dkms ", Technical),
    ("dpkg-query ", Technical),
    ("rpm ", Technical),
    ("pacman ", Technical),
    ("pgrep ", Technical),
    ("systemctl ", Technical),
    ("timedatectl ", Technical),
    ("chronyc ", Network),
    ("ldconfig ", Paths),
    ("dmesg", KernelLog),
    ("journalctl ", KernelLog),
];

/// Files by path: `*` at an end stands for anything. The first that matches counts.
const FILES: &[(&str, Sensitivity)] = &[
    ("/etc/environment", Variables),
    ("*/nccl.conf", Variables),
    ("*/.nccl.conf", Variables),
    ("*/pip.conf", Packages),
    ("*/uv.toml", Packages),
    ("*/daemon.json", DaemonJson),
    ("*/.docker/config.json", DockerConfig),
    ("*/meta.json", DockerContext),
    ("*.service", Unit),
    ("*.socket", Unit),
    ("/etc/systemd/*.conf", Unit),
    ("/run/systemd/*.conf", Unit),
    ("/lib/systemd/*.conf", Unit),
    ("/usr/lib/systemd/*.conf", Unit),
    ("/var/lib/kubelet/config.yaml", Kubelet),
    ("/proc/cmdline", KernelParameters),
    ("*/cmdline", Process),
    ("/proc/self/mountinfo", Mounts),
    ("/proc/net/unix", Sockets),
    ("/proc/net/*", Network),
    ("/proc/sys/kernel/hostname", Network),
    ("/proc/self/cgroup", Network),
    ("/proc/*", Technical),
    ("/sys/*", Technical),
    ("/dev/kmsg", KernelLog),
    ("/etc/hosts", Network),
    ("/etc/hostname", Network),
    ("/etc/resolv.conf", Network),
    ("/etc/group", Network),
    ("/etc/ufw/*", Firewall),
    ("/etc/default/ufw", Firewall),
    ("*/firewalld/*", Network),
    ("/etc/nvidia-container-runtime/*", Toolkit),
    ("*/cdi/*", Cdi),
    ("*/os-release", OsRelease),
    ("/etc/nsswitch.conf", NameServices),
    ("/etc/ld.so.conf*", Loader),
    ("*/modprobe.d/*", ModuleOptions),
    ("/run/reboot-required*", Words),
    ("/run/systemd/container", Words),
    ("/var/lib/dpkg/status", PackageNames),
    ("*/docker.pid", Words),
    ("*/conda-meta/*", CondaPackage),
    ("*/version.json", VersionJson),
    ("*/version.txt", Technical),
    ("*/version", Words),
    ("*/torch/version.py", TorchVersion),
    ("*/METADATA", PackageNames),
    ("*/pyvenv.cfg", VirtualEnvironment),
    ("*/.python-version", Words),
    ("*/EXTERNALLY-MANAGED", Technical),
    ("*/bin/python*", Shim),
    ("*/shims/python*", Shim),
    ("*/lib/*.so*", Technical),
    ("/usr/include/*", Technical),
    ("/usr/lib/*", Technical),
];

impl Sensitivity {
    /// Whether four numbers are a version there, and a plain word is no name of a machine or a user.
    pub(crate) fn is_technical(self) -> bool {
        matches!(
            self,
            Technical
                | GpuReport
                | ModuleInfo
                | OsRelease
                | PackageNames
                | CondaPackage
                | VersionJson
                | TorchVersion
        )
    }

    /// By the text of the question ([`crate::Ask`]'s `Display`), which is what a snapshot keeps.
    pub(crate) fn of(question: &str) -> Sensitivity {
        let (kind, rest) = question.split_once(' ').unwrap_or((question, ""));
        match kind {
            "read" => first(FILES, |pattern| matches(pattern, rest)),
            "run" => first(PROGRAMS, |start| program(rest).starts_with(start)),
            kind => first(KINDS, |known| known == kind),
        }
    }
}

fn first(table: &[(&str, Sensitivity)], matches: impl Fn(&str) -> bool) -> Sensitivity {
    table.iter().find(|(pattern, _)| matches(pattern)).map_or(Private, |(_, sensitivity)| *sensitivity)
}

/// The command line with the program's directory left out.
fn program(command: &str) -> &str {
    let end = command.find(' ').unwrap_or(command.len());
    let start = command[..end].rfind('/').map_or(0, |slash| slash + 1);
    &command[start..]
}

fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => match rest.split_once('*') {
            None => path.len() >= start.len() + rest.len() && path.starts_with(start) && path.ends_with(rest),
            Some((middle, "")) if start.is_empty() => path.contains(middle),
            Some(_) => false,
        },
    }
}

/// Words of records that name a GPU, its driver, an NVSwitch, an RDMA adapter, an error of the bus or a kill
/// for memory. Other records of the kernel's log are not kept.
pub(crate) const KERNEL_LOG_WORDS: &[&str] = &[
    "NVRM",
    "nvidia",
    "nouveau",
    "Xid",
    "NVLink",
    "nvlink",
    "nvswitch",
    "mlx5",
    "AER:",
    "Out of memory",
    "oom-kill",
    "Killed process",
    "gdrdrv",
    "nv_peer",
    "IOMMU",
    "DMAR",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_readings_are_private() {
        for (question, expected) in [
            ("read /srv/notes.txt", Private),
            ("run cat /etc/shadow", Private),
            ("ask something", Private),
            ("read /root/.docker/config.json", DockerConfig),
            ("read /root/.config/pip/pip.conf", Packages),
            ("read /etc/systemd/system/docker.service.d/proxy.conf", Unit),
            ("read /proc/1234/cmdline", Process),
            ("read /sys/bus/pci/devices/0000:41:00.0/vendor", Technical),
            ("read /etc/cdi/nvidia.yaml", Cdi),
            ("run /usr/bin/nvidia-smi -q -x", GpuReport),
            ("run dmesg", KernelLog),
            ("environment", Variables),
            ("clock", Number),
        ] {
            assert_eq!(Sensitivity::of(question), expected, "{question}");
        }
    }
}
