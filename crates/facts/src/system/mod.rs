//! Operating system, kernel, virtualisation, container and WSL.

mod container;
mod virtualisation;

use super::Fact;
use crate::{IntoFact, environment};
use catalog::Catalog;
use host::{Host, Reading};

/// The machine below everything else.
#[derive(Debug, Clone)]
pub struct System {
    /// `/etc/os-release` (or `/usr/lib/os-release`).
    pub os: Fact<OsRelease>,
    /// Release of the running kernel, `6.8.0-45-generic`: `/proc/sys/kernel/osrelease`.
    pub kernel: Fact<String>,
    /// `x86_64`, `aarch64`: `/proc/sys/kernel/arch` (Linux 6.1 and newer), else the ELF loader that is
    /// installed.
    pub architecture: Fact<String>,
    /// Model of the first processor: `model name` of `/proc/cpuinfo`. Absent where the kernel writes none, as
    /// on ARM.
    pub cpu_model: Fact<String>,
    /// Hypervisor (`kvm`, `vmware`, `hyperv`, `xen`, …), as DMI
    /// (`/sys/class/dmi/id/{sys_vendor,product_name}`), the clock sources and the cpuinfo flag `hypervisor`
    /// show it; absent on bare metal.
    pub virtualisation: Fact<String>,
    /// The container that envdoc itself runs in (`docker`, `podman`, `kubernetes`, `lxc`, …; `container`
    /// where nothing names the engine). Absent on a machine itself, be it virtual. `container.rs` has
    /// the rules.
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

impl OsRelease {
    /// The command that installs a package here; none where envdoc does not know the package manager.
    pub fn install(&self, package: &str) -> Option<String> {
        const MANAGERS: &[(&[&str], &str)] = &[
            (&["debian", "ubuntu"], "sudo apt-get install -y"),
            (&["rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn"], "sudo dnf install -y"),
            (&["suse", "opensuse", "sles"], "sudo zypper install -y"),
            (&["arch"], "sudo pacman -S"),
        ];
        let is = |name: &&str| self.id == **name || self.id_like.iter().any(|like| like == *name);
        let (_, command) = MANAGERS.iter().find(|(names, _)| names.iter().any(is))?;
        Some(format!("{command} {package}"))
    }
}

/// Windows Subsystem for Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wsl {
    /// 1 or 2.
    pub version: u8,
    /// Whether `/dev/dxg`, the door to the Windows driver, is there.
    pub dxg: bool,
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> System {
    let kernel = host
        .read("/proc/sys/kernel/osrelease")
        .text()
        .must_exist("/proc/sys/kernel/osrelease")
        .map(|text| text.trim().to_owned());
    let wsl = wsl(host, &kernel);
    let status = host.read("/proc/self/status").text().must_exist("/proc/self/status");
    let systemd = host.stat("/run/systemd/system").text().map(|_| true).absent_as(false);
    System {
        os: os_release(host),
        architecture: architecture(host),
        cpu_model: host
            .read("/proc/cpuinfo")
            .text()
            .must_exist("/proc/cpuinfo")
            .and_then(|text| cpu_model(&text).map_or(Fact::Absent, Fact::Known)),
        virtualisation: virtualisation::gather(host, catalog),
        container: container::gather(host, &wsl),
        uid: status.as_ref().and_then(|text| uid(text)),
        gids: status.as_ref().and_then(|text| gids(text)),
        memory: memory(host),
        command_line: host
            .read("/proc/cmdline")
            .text()
            .must_exist("/proc/cmdline")
            .map(|text| text.trim().to_owned()),
        kernel,
        wsl,
        systemd,
    }
}

fn os_release(host: &dyn Host) -> Fact<OsRelease> {
    host.read("/etc/os-release")
        .text()
        .or_else(|| host.read("/usr/lib/os-release").text())
        .map(|text| parse_os_release(&text))
        .about("/etc/os-release")
}

/// Shell assignments, quoted or not; comments and empty lines between them:
///
/// ```text
/// PRETTY_NAME="Ubuntu 22.04.5 LTS"
/// VERSION_ID="22.04"
/// ID=ubuntu
/// ID_LIKE=debian
/// ```
///
/// A file without `ID` means `linux` (os-release(5)).
pub(crate) fn parse_os_release(text: &str) -> OsRelease {
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.trim().split_once('='))
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| environment::unquote(value))
            .rfind(|value| !value.is_empty())
    };
    let id = field("ID").unwrap_or_else(|| "linux".into());
    OsRelease {
        id_like: field("ID_LIKE").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        version_id: field("VERSION_ID"),
        pretty_name: field("PRETTY_NAME").or_else(|| field("NAME")).unwrap_or_else(|| id.clone()),
        id,
    }
}

/// Loaders by the architecture that they load programs of.
const LOADERS: &[(&str, &[&str])] = &[
    ("x86_64", &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"]),
    ("aarch64", &["/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"]),
    ("ppc64le", &["/lib64/ld64.so.2"]),
    ("riscv64", &["/lib/ld-linux-riscv64-lp64d.so.1"]),
    ("s390x", &["/lib/ld64.so.1"]),
];

fn architecture(host: &dyn Host) -> Fact<String> {
    let kernel = host.read("/proc/sys/kernel/arch").text().map(|text| text.trim().to_owned());
    // A reading that fails (an old snapshot) leaves the loaders; so does an older kernel.
    kernel.or_look(|| loader_architecture(host))
}

/// Libraries of a foreign architecture bring its loader along: two of them decide nothing.
fn loader_architecture(host: &dyn Host) -> Fact<String> {
    let mut found = Vec::new();
    for (architecture, loaders) in LOADERS {
        for loader in *loaders {
            match host.stat(loader) {
                Reading::Absent => {}
                Reading::Failed(why) => return Fact::Unknown(why.clone().about(loader.to_string())),
                _ => found.push(*architecture),
            }
        }
    }
    found.dedup();
    match found[..] {
        [one] => Fact::Known(one.to_owned()),
        [] => Fact::Unknown(
            "the kernel does not name its architecture, and no ELF loader is where it usually is".into(),
        ),
        _ => {
            Fact::unknown(format!("the loaders of several architectures are installed: {}", found.join(", ")))
        }
    }
}

/// `model name\t: Intel(R) Xeon(R) Gold 6326 CPU @ 2.90GHz`
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    line.map(|(_, name)| name.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|name| !name.is_empty())
}

/// `5.15.153.1-microsoft-standard-WSL2` is WSL 2, `4.4.0-19041-Microsoft` is WSL 1.
fn wsl(host: &dyn Host, kernel: &Fact<String>) -> Fact<Wsl> {
    kernel.as_ref().and_then(|release| {
        let lower = release.to_ascii_lowercase();
        if !lower.contains("microsoft") && !lower.contains("wsl") {
            return Fact::Absent;
        }
        let dxg = host.stat("/dev/dxg").text().map(|_| true).absent_as(false).about("/dev/dxg");
        let first = release.ends_with("-Microsoft") && release.starts_with("4.4.");
        dxg.map(|dxg| Wsl { version: if first { 1 } else { 2 }, dxg })
    })
}

/// `/proc/self/status` has the real, the effective, the saved and the file system's id:
///
/// ```text
/// Uid:    1000    1000    1000    1000
/// Gid:    1000    1000    1000    1000
/// FDSize:    256
/// Groups:    4 24 27 1000
/// ```
fn ids(status: &str, name: &str) -> Option<Vec<u32>> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().map(|id| id.parse().ok()).collect()
}

fn uid(status: &str) -> Fact<u32> {
    match ids(status, "Uid").as_deref() {
        Some([_, effective, ..]) => Fact::Known(*effective),
        _ => Fact::unknown("/proc/self/status names no user id"),
    }
}

fn gids(status: &str) -> Fact<Vec<u32>> {
    match (ids(status, "Gid").as_deref(), ids(status, "Groups")) {
        (Some([_, effective, ..]), Some(groups)) => {
            let others = groups.into_iter().filter(|group| group != effective);
            Fact::Known(std::iter::once(*effective).chain(others).collect())
        }
        _ => Fact::unknown("/proc/self/status names no group ids"),
    }
}

fn memory(host: &dyn Host) -> Fact<u64> {
    host.read("/proc/meminfo").text().must_exist("/proc/meminfo").and_then(|text| {
        match meminfo(&text, "MemTotal") {
            Some(bytes) => Fact::Known(bytes),
            None => Fact::unknown("/proc/meminfo has no MemTotal"),
        }
    })
}

/// One value of `/proc/meminfo`, in bytes where it has a unit, else as it is:
///
/// ```text
/// MemTotal:       131757392 kB
/// HugePages_Total:       0
/// ```
pub(super) fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut words = line.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => number.checked_mul(1024),
        None => Some(number),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
