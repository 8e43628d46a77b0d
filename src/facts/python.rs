//! Python environments and what is installed in them, read from files: Python is never run.

use super::Fact;
use crate::host::Host;

/// Python on this machine.
#[derive(Debug, Clone)]
pub struct Python {
    /// Every environment found, the one that `python3` starts first: VIRTUAL_ENV, CONDA_PREFIX, `python3`/`python` on PATH (pyenv's
    /// shims and links followed), `~/.venv`, conda roots.
    pub environments: Fact<Vec<PythonEnvironment>>,
}

/// One environment.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonEnvironment {
    /// `sys.prefix`.
    pub prefix: String,
    /// `3.12` or `3.12.4` where it is written down.
    pub version: Fact<String>,
    /// `venv`, `conda`, `system`, `pyenv`, `uv`.
    pub kind: String,
    /// How it was found: `VIRTUAL_ENV`, `PATH`, `CONDA_PREFIX`, …
    pub found_by: String,
    /// Directories with packages that were read, in `sys.path` order.
    pub site_packages: Vec<String>,
    /// Whether an `EXTERNALLY-MANAGED` file forbids `pip install` there (PEP 668).
    pub externally_managed: Fact<bool>,
    /// The distributions that matter here (torch, torchvision, torchaudio, triton, deepspeed, transformers, accelerate, flash-attn,
    /// nvidia-*, …): names of `*.dist-info` directories, normalised (PEP 503), and versions.
    pub packages: Fact<Vec<Package>>,
    /// torch itself, from `torch/version.py`; absent when it is not installed.
    pub torch: Fact<Torch>,
}

/// One installed distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Normalised name, `nvidia-nccl-cu12`.
    pub name: String,
    /// `2.21.5`.
    pub version: String,
}

/// An installed torch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torch {
    /// Public version without the build, `2.5.1`.
    pub version: String,
    /// The local part, `cu121`, `cpu`; absent on wheels of PyPI that carry none.
    pub build: Fact<String>,
    /// The CUDA that it was built with, `12.1` (`cuda: Optional[str] = '12.1'` in `torch/version.py`); absent in CPU and ROCm builds.
    pub cuda: Fact<String>,
    /// ROCm version, where it is such a build.
    pub hip: Fact<String>,
}

impl PythonEnvironment {
    /// The installed version of a distribution by its normalised name.
    pub fn package(&self, name: &str) -> Fact<&str> {
        self.packages.as_ref().and_then(|packages| {
            packages.iter().find(|p| p.name == name).map_or(Fact::Absent, |p| Fact::Known(p.version.as_str()))
        })
    }
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Python {
    let _ = host;
    Python { environments: Fact::Unknown("not yet".into()) }
}
