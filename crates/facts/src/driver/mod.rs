//! The NVIDIA driver: kernel module, user library, packages, device nodes.

use std::fmt;
use std::str::FromStr;

use super::{Fact, packages};
use crate::IntoFact;
use catalog::Catalog;
use host::{Host, Missing, Stat};

/// The driver in its several places, which an upgrade without a reboot lets drift apart.
#[derive(Debug, Clone)]
pub struct Driver {
    /// The loaded kernel module, as `/proc/driver/nvidia/version` describes it. Absent when it is not loaded.
    pub module: Fact<Module>,
    /// Version of the user library: the file that `libcuda.so.1` (or `libnvidia-ml.so.1`) links to, in the
    /// loader's directories. Absent when there is none.
    pub library: Fact<DriverVersion>,
    /// Every `libcuda.so.*`/`libnvidia-ml.so.*` found, in the loader's order of directories (several versions
    /// mean trouble); without stubs and without CUDA's compat libraries.
    pub libraries: Fact<Vec<DriverLibrary>>,
    /// `libcuda.so.1` and `libnvidia-ml.so.1` whose file bears no version: WSL2 (`/usr/lib/wsl/lib`), Jetson.
    pub unversioned: Fact<Vec<String>>,
    /// Stub libraries (for linking only) in the loader's directories: `libcuda.so` below a directory `stubs`.
    pub stubs: Fact<Vec<String>>,
    /// Driver libraries that cannot be loaded: empty files, links that lead nowhere; and which of both.
    pub broken: Fact<Vec<(String, &'static str)>>,
    /// Driver packages (`nvidia-driver-550-server`, `cuda-drivers`, `kmod-nvidia…`) from [`super::packages`];
    /// absent when the driver came from NVIDIA's .run installer or not at all.
    pub packages: Fact<Vec<(String, String)>>,
    /// Where `nvidia-smi` is; absent when it is neither on PATH nor, on WSL2, in `/usr/lib/wsl/lib`.
    pub smi: Fact<String>,
    /// Whether `nvidia-modprobe` may load modules and make device nodes for every user: it belongs to root
    /// and is setuid. Absent when it is not installed.
    pub modprobe: Fact<bool>,
    /// `/dev/nvidia*`; absent when there is none at all.
    pub device_nodes: Fact<DeviceNodes>,
    /// GPUs as the module numbers them: directories of `/proc/driver/nvidia/gpus`.
    pub proc_gpus: Fact<Vec<String>>,
}

/// The loaded kernel module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// From `/proc/driver/nvidia/version`.
    pub version: DriverVersion,
    /// Whether it is the open kernel module.
    pub open: bool,
}

/// A driver's user library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverLibrary {
    /// Full path.
    pub path: String,
    /// The version in its file name.
    pub version: DriverVersion,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceNodes {
    /// Numbers N of `/dev/nvidiaN`.
    pub gpus: Vec<u32>,
    /// `/dev/nvidiactl`.
    pub control: bool,
    /// `/dev/nvidia-uvm`.
    pub uvm: bool,
    /// Numbers of `/dev/nvidia-nvswitchN`.
    pub nvswitches: Vec<u32>,
    /// `/dev/nvidia-caps`: capabilities of MIG and IMEX.
    pub capabilities: bool,
}

/// A driver version. Not semver: `550.144.03` has a leading zero, `590.44` two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    /// Branch, `550`.
    pub branch: u32,
    /// Second part.
    pub minor: u32,
    /// Third part, if there is one.
    pub patch: Option<u32>,
}

/// A text that is not a driver version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a driver version such as 550.144.03")]
pub struct InvalidDriverVersion(pub String);

impl FromStr for DriverVersion {
    type Err = InvalidDriverVersion;

    fn from_str(text: &str) -> Result<Self, InvalidDriverVersion> {
        let wrong = || InvalidDriverVersion(text.to_owned());
        let mut parts = text.trim().split('.').map(str::parse::<u32>);
        let mut next = || parts.next().transpose().map_err(|_| wrong());
        let (branch, minor, patch) = (next()?.ok_or_else(wrong)?, next()?.ok_or_else(wrong)?, next()?);
        if next()?.is_some() { Err(wrong()) } else { Ok(DriverVersion { branch, minor, patch }) }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A branch alone, for which no release has minor 0.
        if self.minor == 0 && self.patch.is_none() {
            return write!(f, "{}", self.branch);
        }
        // NVIDIA writes the second and third part with at least two digits: 525.60.13, 550.144.03, 390.157.
        write!(f, "{}.{:02}", self.branch, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch:02}"))
    }
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Driver {
    let found = Found::gather(host);
    let nodes = host.find("/dev", &["nvidia"]).lines().must_exist("/dev").about("/dev");
    Driver {
        module: procfs(host, host.read("/proc/driver/nvidia/version").text())
            .and_then(|text| parse_version(&text)),
        library: found.library(),
        libraries: found.fact(|found| found.libraries.clone()),
        unversioned: found.fact(|found| found.unversioned.clone()),
        stubs: found.fact(|found| found.stubs.clone()),
        broken: found.fact(|found| found.broken.clone()),
        packages: packages(host, catalog),
        smi: host.program("nvidia-smi").text().or_look(|| {
            let stat = host.stat("/usr/lib/wsl/lib/nvidia-smi").json::<Stat>();
            stat.map(|_| "/usr/lib/wsl/lib/nvidia-smi".to_owned())
        }),
        modprobe: host
            .stat("/usr/bin/nvidia-modprobe")
            .json::<Stat>()
            .map(|stat| stat.uid == 0 && stat.mode.len() == 4 && stat.mode.starts_with(['4', '5', '6', '7'])),
        device_nodes: nodes.and_then(|names| parse_nodes(&names)),
        proc_gpus: procfs(host, host.list("/proc/driver/nvidia/gpus").text())
            .map(|text| text.lines().map(str::to_owned).collect()),
    }
}

/// A file below /proc that is not there says something only where /proc is mounted.
fn procfs(host: &dyn Host, text: Fact<String>) -> Fact<String> {
    text.or_else(|| {
        host.read("/proc/sys/kernel/osrelease").text().must_exist("/proc").and_then(|_| Fact::Absent)
    })
    .about("/proc/driver/nvidia")
}

/// Reads the first line of `/proc/driver/nvidia/version`:
/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.113.01  Tue Sep 12 04:46:24 UTC 2023`, or
/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build  (root@node)  Mon Mar
/// 2 …`.
fn parse_version(text: &str) -> Fact<Module> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:")).unwrap_or_default();
    let version = line.split_whitespace().find_map(|word| word.parse::<DriverVersion>().ok());
    match version {
        Some(version) => Fact::Known(Module { version, open: line.contains("Open Kernel Module") }),
        None => {
            let first = text.lines().next().unwrap_or_default();
            Fact::unknown(format!("/proc/driver/nvidia/version names no version: {first:?}"))
        }
    }
}

/// `nvidia0`, `nvidiactl`, `nvidia-uvm`, `nvidia-uvm-tools`, `nvidia-modeset`, `nvidia-caps`,
/// `nvidia-nvswitch0`, …
fn parse_nodes(names: &[String]) -> Fact<DeviceNodes> {
    let numbered = |prefix: &str| -> Vec<u32> {
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    };
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let nodes = DeviceNodes {
        gpus: numbered("nvidia"),
        control: has("nvidiactl"),
        uvm: has("nvidia-uvm"),
        nvswitches: numbered("nvidia-nvswitch"),
        capabilities: has("nvidia-caps"),
    };
    if names.is_empty() { Fact::Absent } else { Fact::Known(nodes) }
}

fn packages(host: &dyn Host, catalog: &Catalog) -> Fact<packages::Packages> {
    let names = catalog.nvidia_packages();
    packages::installed(host, catalog, &names.prefixes()).and_then(|mut found| {
        found.retain(|(name, _)| names.is_driver(name));
        if found.is_empty() { Fact::Absent } else { Fact::Known(found) }
    })
}

/// What lies in the loader's directories.
#[derive(Default)]
struct Found {
    failed: Option<Missing>,
    links: Vec<DriverLibrary>,
    libraries: Vec<DriverLibrary>,
    unversioned: Vec<String>,
    stubs: Vec<String>,
    broken: Vec<(String, &'static str)>,
}

impl Found {
    fn gather(host: &dyn Host) -> Found {
        let mut found = Found::default();
        let directories = match directories(host) {
            Ok(directories) => directories,
            Err(why) => {
                found.failed = Some(why);
                return found;
            }
        };
        for dir in directories {
            match host.find(&dir, &["libcuda.so", "libnvidia-ml.so"]).lines() {
                Fact::Known(names) => found.directory(host, &dir, &names),
                Fact::Absent => {}
                Fact::Unknown(why) => found.failed = Some(why.about(dir)),
            }
        }
        found
    }

    fn directory(&mut self, host: &dyn Host, dir: &str, names: &[String]) {
        if dir.contains("/stubs") {
            self.stubs.extend(names.iter().map(|name| format!("{dir}/{name}")));
            return;
        }
        for name in names {
            let path = format!("{dir}/{name}");
            let link = name.ends_with(".so.1");
            let version = version_of(name);
            if !link && version.is_none() {
                continue;
            }
            let stat = match host.stat(&path).json::<Stat>() {
                Fact::Known(stat) => stat,
                Fact::Absent => {
                    self.broken.push((path, "is a dangling symlink"));
                    continue;
                }
                Fact::Unknown(why) => {
                    self.failed = Some(why.about(path));
                    continue;
                }
            };
            let real = version_of(stat.path.rsplit('/').next().unwrap_or_default());
            if stat.size == 0 {
                self.broken.push((path.clone(), "is empty"));
            }
            match (link, version.or(real)) {
                (true, Some(version)) => self.links.push(DriverLibrary { path, version }),
                (true, None) => self.unversioned.push(path),
                (false, Some(version)) => self.libraries.push(DriverLibrary { path, version }),
                (false, None) => {}
            }
        }
    }

    fn fact<T>(&self, take: impl FnOnce(&Found) -> T) -> Fact<T> {
        match &self.failed {
            Some(why) => Fact::Unknown(why.clone()),
            None => Fact::Known(take(self)),
        }
    }

    /// What the loader takes: the first link, of `libcuda.so.1` before others in the same directory.
    fn library(&self) -> Fact<DriverVersion> {
        match (&self.failed, self.links.first(), self.unversioned.first()) {
            (Some(why), ..) => Fact::Unknown(why.clone()),
            (None, Some(link), _) => Fact::Known(link.version),
            (None, None, Some(path)) => {
                Fact::unknown(format!("the file of {path} has no version in its name"))
            }
            (None, None, None) => Fact::Absent,
        }
    }
}

/// `libcuda.so.550.54.14` is of 550.54.14. `libcuda.so.1.1` of WSL2 and Jetson says nothing.
fn version_of(name: &str) -> Option<DriverVersion> {
    let (_, version) = name.split_once(".so.")?;
    version.parse::<DriverVersion>().ok().filter(|version| version.branch >= 100)
}

/// The loader's directories in its order, as far as it is known without reading its cache:
/// `LD_LIBRARY_PATH`, what `/etc/ld.so.conf.d` names, the built-in ones, and those that driver containers
/// use. Directories of CUDA's compat libraries are left out: those are meant to be of another version.
fn directories(host: &dyn Host) -> Result<Vec<String>, Missing> {
    const KNOWN: &[&str] = &[
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib/wsl/lib",
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
        "/run/opengl-driver/lib",
        "/usr/lib",
    ];
    let mut dirs = Vec::new();
    let environment = host.environment().text().about("environment").absent_as(String::new());
    let environment = environment.decided()?.cloned().unwrap_or_default();
    let path = environment.lines().find_map(|line| line.strip_prefix("LD_LIBRARY_PATH="));
    dirs.extend(path.unwrap_or_default().split(':').map(str::to_owned));
    let configured = host.list("/etc/ld.so.conf.d").lines().about("/etc/ld.so.conf.d");
    for name in configured.decided()?.into_iter().flatten().filter(|name| name.ends_with(".conf")) {
        let path = format!("/etc/ld.so.conf.d/{name}");
        let text = host.read(&path).text().about(&path);
        dirs.extend(
            text.decided()?.into_iter().flat_map(|text| text.lines()).map(|line| line.trim().to_owned()),
        );
    }
    dirs.extend(KNOWN.iter().map(|&dir| dir.to_owned()));
    // Where /lib is a link to /usr/lib, one of both is enough.
    let merged = host.stat("/lib").json::<Stat>().known().is_some_and(|stat| stat.path == "/usr/lib");
    let mut unique = Vec::new();
    for dir in dirs.into_iter().filter(|dir| dir.starts_with('/') && !dir.contains("/compat")) {
        let dir = dir.trim_end_matches('/');
        let dir = if merged && dir.starts_with("/lib") { format!("/usr{dir}") } else { dir.to_owned() };
        if !dir.is_empty() && !unique.contains(&dir) {
            unique.push(dir);
        }
    }
    Ok(unique)
}

#[cfg(test)]
mod tests;
