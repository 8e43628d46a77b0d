//! The NVIDIA driver: kernel module, user library, packages, device nodes.

use std::fmt;
use std::str::FromStr;

use super::Fact;
use crate::host::Host;

/// The driver in its several places, which an upgrade without a reboot lets drift apart.
#[derive(Debug, Clone)]
pub struct Driver {
    /// The loaded kernel module, as `/proc/driver/nvidia/version` describes it. Absent when it is not loaded.
    pub module: Fact<Module>,
    /// Version of the user library: the file that `libcuda.so.1` (or `libnvidia-ml.so.1`) links to, in the loader's
    /// directories. Absent when there is none.
    pub library: Fact<DriverVersion>,
    /// Every `libcuda.so.*`/`libnvidia-ml.so.*` found, with its directory (several mean trouble).
    pub libraries: Fact<Vec<DriverLibrary>>,
    /// Driver packages (`nvidia-driver-550-server`, `cuda-drivers`, `kmod-nvidia…`) from dpkg's status file or rpm; absent when
    /// the driver came from NVIDIA's .run installer or not at all.
    pub packages: Fact<Vec<(String, String)>>,
    /// Where `nvidia-smi` is; absent when it is not on PATH.
    pub smi: Fact<String>,
    /// `/dev/nvidia*`; absent when there is none at all.
    pub device_nodes: Fact<DeviceNodes>,
    /// GPUs as the module numbers them: directories of `/proc/driver/nvidia/gpus`.
    pub proc_gpus: Fact<Vec<String>>,
}

/// The loaded kernel module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its version.
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

/// NVIDIA's device nodes.
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

impl FromStr for DriverVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a driver version such as 550.144.03");
        let mut parts = text.trim().split('.').map(str::parse::<u32>);
        let mut next = || parts.next().transpose().map_err(|_| wrong());
        let (branch, minor, patch) = (next()?.ok_or_else(wrong)?, next()?.ok_or_else(wrong)?, next()?);
        if next()?.is_some() { Err(wrong()) } else { Ok(DriverVersion { branch, minor, patch }) }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // NVIDIA writes the second and third part with at least two digits: 525.60.13, 550.144.03, 390.157.
        write!(f, "{}.{:02}", self.branch, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch:02}"))
    }
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Driver {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Driver {
        module: Fact::Unknown(unknown()),
        library: Fact::Unknown(unknown()),
        libraries: Fact::Unknown(unknown()),
        packages: Fact::Unknown(unknown()),
        smi: Fact::Unknown(unknown()),
        device_nodes: Fact::Unknown(unknown()),
        proc_gpus: Fact::Unknown(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_versions_order_by_number_and_print_as_nvidia_writes_them() {
        let parse = |text: &str| text.parse::<DriverVersion>().unwrap();
        assert!(parse("550.54.14") < parse("550.144.03"));
        assert!(parse("470.256.02") < parse("525.60.13"));
        for text in ["550.144.03", "525.60.13", "390.157", "590.44.01", "535.54.03"] {
            assert_eq!(parse(text).to_string(), text);
        }
        for text in ["", "550", "550.x", "1.2.3.4", "N/A"] {
            assert!(text.parse::<DriverVersion>().is_err(), "{text}");
        }
    }
}
