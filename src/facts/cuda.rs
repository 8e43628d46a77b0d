//! CUDA toolkits on the machine.

use super::Fact;
use crate::host::Host;

/// Every toolkit, and which one a compiler run would take.
#[derive(Debug, Clone)]
pub struct Cuda {
    /// Toolkits under `/usr/local/cuda*` and `/opt/cuda`, by `version.json` or `version.txt`.
    pub toolkits: Fact<Vec<Toolkit>>,
    /// What `/usr/local/cuda` links to.
    pub default: Fact<String>,
    /// `nvcc` on PATH: its path, links followed.
    pub nvcc: Fact<String>,
    /// Version of the toolkit that this nvcc belongs to, `12.4`: the toolkit's version file, else `nvcc --version`.
    pub nvcc_version: Fact<String>,
    /// `CUDA_HOME` or `CUDA_PATH`.
    pub home: Fact<String>,
}

/// One toolkit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its directory, links followed.
    pub path: String,
    /// `12.4.1`, or `12.4` where only that is written down.
    pub version: Fact<String>,
    /// Whether `bin/nvcc` is in it.
    pub nvcc: bool,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Cuda {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Cuda {
        toolkits: Fact::Unknown(unknown()),
        default: Fact::Unknown(unknown()),
        nvcc: Fact::Unknown(unknown()),
        nvcc_version: Fact::Unknown(unknown()),
        home: Fact::Unknown(unknown()),
    }
}
