//! NVIDIA Container Toolkit: packages, configuration, CDI specifications.

use super::Fact;
use crate::host::Host;

/// The toolkit.
#[derive(Debug, Clone)]
pub struct Toolkit {
    /// Version of the installed package (dpkg status, rpm), else what `nvidia-ctk --version` says. Absent when not installed.
    pub version: Fact<String>,
    /// Programs found: `nvidia-container-runtime`, `nvidia-container-runtime-hook`, `nvidia-ctk`, `nvidia-cdi-hook`, `nvidia-container-cli`,
    /// by name and path.
    pub programs: Fact<Vec<(String, String)>>,
    /// Installed packages of the family and their versions.
    pub packages: Fact<Vec<(String, String)>>,
    /// `/etc/nvidia-container-runtime/config.toml`; absent when there is none.
    pub config: Fact<Config>,
    /// CDI specification files in `/etc/cdi` and `/var/run/cdi`; an empty list when there is none.
    pub cdi: Fact<Vec<CdiSpec>>,
    /// Whether the units `nvidia-cdi-refresh.{service,path}` are installed (toolkit 1.18 and newer).
    pub refresh_unit: Fact<bool>,
}

/// The parts of config.toml that envdoc uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Its path.
    pub path: String,
    /// `nvidia-container-runtime.mode`: `auto`, `legacy`, `cdi`, `csv`; absent when not set.
    pub mode: Fact<String>,
    /// `nvidia-container-cli.no-cgroups`.
    pub no_cgroups: Fact<bool>,
    /// `nvidia-container-cli.root`: a driver that lies elsewhere (`/run/nvidia/driver`).
    pub driver_root: Fact<String>,
    /// `disable-require`.
    pub disable_require: Fact<bool>,
    /// `accept-nvidia-visible-devices-envvar-when-unprivileged`.
    pub accept_envvar_when_unprivileged: Fact<bool>,
}

/// One CDI specification file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdiSpec {
    /// Its path.
    pub path: String,
    /// `nvidia.com/gpu`.
    pub kind: String,
    /// Version of the CDI format, `0.5.0`.
    pub cdi_version: String,
    /// Names of its devices: `0`, `all`, `GPU-…`, `0:0`.
    pub devices: Vec<String>,
    /// Driver version that its library paths carry (`libcuda.so.550.54.14`); absent when none does.
    pub driver: Fact<String>,
    /// Last change, seconds since 1970.
    pub modified: Fact<i64>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Toolkit {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Toolkit {
        version: Fact::Unknown(unknown()),
        programs: Fact::Unknown(unknown()),
        packages: Fact::Unknown(unknown()),
        config: Fact::Unknown(unknown()),
        cdi: Fact::Unknown(unknown()),
        refresh_unit: Fact::Unknown(unknown()),
    }
}
