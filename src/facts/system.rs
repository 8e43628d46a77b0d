//! Operating system, kernel, virtualisation, container and WSL.

use super::Fact;
use crate::host::Host;

/// The machine below everything else.
#[derive(Debug, Clone)]
pub struct System {
    /// `/etc/os-release` (or `/usr/lib/os-release`).
    pub os: Fact<OsRelease>,
    /// Release of the running kernel, `6.8.0-45-generic`: `/proc/sys/kernel/osrelease`.
    pub kernel: Fact<String>,
    /// `x86_64`, `aarch64`: of the `ELF` machine envdoc was built for on a live machine; see `gather`.
    pub architecture: Fact<String>,
    /// Hypervisor, as DMI (`/sys/class/dmi/id/{sys_vendor,product_name}`) and the cpuinfo flag `hypervisor` show it;
    /// absent on bare metal.
    pub virtualisation: Fact<String>,
    /// The container that envdoc itself runs in (`docker`, `podman`, `kubernetes`, `lxc`, …): `/.dockerenv`,
    /// `/run/.containerenv`, `/proc/1/environ` or `container=` in the environment, `/proc/self/cgroup`, and an overlay root
    /// in `/proc/self/mountinfo`. Absent on a machine itself.
    pub container: Fact<String>,
    /// Windows Subsystem for Linux: `/proc/version` names Microsoft.
    pub wsl: Fact<Wsl>,
    /// Effective user id: `/proc/self/status`.
    pub uid: Fact<u32>,
    /// Group ids of this process, the primary one first: `/proc/self/status`.
    pub gids: Fact<Vec<u32>>,
    /// Total memory in bytes: `MemTotal` of `/proc/meminfo`.
    pub memory: Fact<u64>,
    /// Kernel command line: `/proc/cmdline`.
    pub command_line: Fact<String>,
    /// Whether `/run/systemd/system` exists: systemd is the init.
    pub systemd: Fact<bool>,
}

/// The fields of os-release that envdoc uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsRelease {
    /// `ubuntu`, `debian`, `rhel`, `rocky`, …
    pub id: String,
    /// `ID_LIKE`, split at spaces.
    pub id_like: Vec<String>,
    /// `22.04`; absent on rolling distributions.
    pub version_id: Option<String>,
    /// `Ubuntu 22.04.5 LTS`.
    pub pretty_name: String,
}

/// Windows Subsystem for Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wsl {
    /// 1 or 2.
    pub version: u8,
    /// Whether `/dev/dxg`, the door to the Windows driver, is there.
    pub dxg: bool,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> System {
    let _ = host;
    System {
        os: Fact::Unknown("not yet".into()),
        kernel: Fact::Unknown("not yet".into()),
        architecture: Fact::Unknown("not yet".into()),
        virtualisation: Fact::Unknown("not yet".into()),
        container: Fact::Absent,
        wsl: Fact::Absent,
        uid: Fact::Unknown("not yet".into()),
        gids: Fact::Unknown("not yet".into()),
        memory: Fact::Unknown("not yet".into()),
        command_line: Fact::Unknown("not yet".into()),
        systemd: Fact::Unknown("not yet".into()),
    }
}
