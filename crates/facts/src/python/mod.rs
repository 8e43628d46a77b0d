//! Python environments and what is installed in them, read from files: Python is never run.

mod locate;
pub mod parser;

use super::Fact;
use catalog::torch::CudaBuild;
use diagnostic::shell;
use host::Host;

/// Python on this machine.
#[derive(Debug, Clone)]
pub struct Python {
    /// Every environment found, the one that `python3` starts first: `python3` and `python` on PATH (pyenv's
    /// shims and links followed), VIRTUAL_ENV, CONDA_PREFIX, then the usual locations (`~/.venv`,
    /// conda roots, the system's own).
    pub environments: Fact<Vec<PythonEnvironment>>,
}

/// A Python installation or virtual environment, and what is installed in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonEnvironment {
    /// `sys.prefix`.
    pub prefix: String,
    /// `3.12` or `3.12.4` where it is written down.
    pub version: Fact<String>,
    /// What made it.
    pub kind: EnvironmentKind,
    pub found_by: FoundBy,
    /// Directories with packages that were read, in `sys.path` order.
    pub site_packages: Vec<String>,
    /// Whether an `EXTERNALLY-MANAGED` file forbids `pip install` there (PEP 668).
    pub externally_managed: Fact<bool>,
    /// The distributions that matter here (torch, torchvision, torchaudio, triton, deepspeed, transformers,
    /// accelerate, flash-attn, nvidia-*, …): names of `*.dist-info` directories, normalised (PEP 503), and
    /// versions.
    pub packages: Fact<Vec<Package>>,
    /// torch itself, from `torch/version.py`; absent when it is not installed.
    pub torch: Fact<Torch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentKind {
    /// `python -m venv`, virtualenv.
    Venv,
    /// conda and its relatives.
    Conda,
    /// The package manager of the system, or the administrator.
    System,
    Pyenv,
    /// `uv python install`.
    Uv,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// `python3` or `python` on PATH.
    Path,
    /// VIRTUAL_ENV.
    VirtualEnv,
    /// CONDA_PREFIX.
    CondaPrefix,
    /// One of the usual locations; nothing in the environment points to it.
    Location,
}

/// One installed distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Normalised name, `nvidia-nccl-cu12`.
    pub name: String,
    /// `2.21.5`.
    pub version: String,
    /// The directory of `site_packages` that it is in.
    pub site: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torch {
    /// Public version without the build, `2.5.1`.
    pub version: String,
    /// The local part of the version, `cu121`, `cpu`; absent in builds that carry none (conda's).
    pub build: Fact<String>,
    /// The CUDA that it was built with, `12.1` (`cuda: Optional[str] = '12.1'` in `torch/version.py`); absent
    /// in CPU and ROCm builds.
    pub cuda: Fact<String>,
    /// ROCm version, where it is such a build.
    pub hip: Fact<String>,
}

impl Torch {
    /// As torch itself writes it, `2.5.1+cu121`.
    pub fn full(&self) -> String {
        match &self.build {
            Fact::Known(build) => format!("{}+{build}", self.version),
            _ => self.version.clone(),
        }
    }

    /// Whether this is a build of the PyTorch project for CUDA (`cu121`), of which the catalog knows how it
    /// was made.
    pub fn cuda_build(&self) -> Option<&str> {
        let build = self.build.known()?;
        CudaBuild::parse(build).map(|_| build.as_str())
    }
}

impl PythonEnvironment {
    /// The installed version of a distribution by its normalised name: the first in `sys.path` order.
    pub fn package(&self, name: &str) -> Fact<&str> {
        self.packages.as_ref().and_then(|packages| {
            packages.iter().find(|p| p.name == name).map_or(Fact::Absent, |p| Fact::Known(p.version.as_str()))
        })
    }

    /// Whether the shell that started envdoc points to it: a program started from there uses it.
    pub fn active(&self) -> bool {
        self.found_by != FoundBy::Location
    }

    /// Its pip with a verb, for commands to type. Where the distribution forbids pip to change the
    /// environment (PEP 668), with the option that lets it: what is wrong there was put there by pip.
    pub fn pip(&self, verb: &str) -> String {
        let forbidden = self.externally_managed == Fact::Known(true);
        let option = if forbidden { " --break-system-packages" } else { "" };
        format!("{} -m pip {verb}{option}", self.interpreter())
    }

    /// Its interpreter, for commands to type.
    pub fn interpreter(&self) -> String {
        let path = format!("{}/bin/python3", self.prefix.trim_end_matches('/'));
        shell::word(&path).into_owned()
    }
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Python {
    Python { environments: locate::environments(host) }
}
