//! Linux distributions as base systems, where each gets its Pythons from, and which compilers nvcc accepts.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file::{self, Sources};

/// A release of a distribution.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// As image tags write it: `ubuntu22.04`, `debian12`, `rockylinux9`, `ubi9`.
    pub id: String,
    /// `Ubuntu 22.04`.
    pub name: String,
    /// `jammy`.
    pub codename: Option<String>,
    /// The image of the bare system: `ubuntu:22.04`.
    pub image: Option<String>,
    /// Its default gcc.
    pub gcc: Option<String>,
    /// Its default Python: `3.10`.
    pub python: Option<String>,
    /// Its glibc.
    pub glibc: Option<String>,
    /// The day of its release.
    pub released: Option<String>,
    /// The day on which standard support ends.
    pub end_of_life: Option<String>,
    /// True where pip refuses to install into the system's Python (PEP 668).
    pub externally_managed: Option<bool>,
    /// What else is to know.
    pub note: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// Where a system gets a Python from; what is not known is `None`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonSource {
    /// `ubuntu22.04`.
    pub system: String,
    /// `3.12`.
    pub python: String,
    /// The distribution's own package.
    pub distribution: Option<bool>,
    /// The deadsnakes archive.
    pub deadsnakes: Option<bool>,
    /// `uv python install`.
    pub uv: Option<bool>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// A Python series.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Python {
    /// `3.12`.
    pub python: String,
    /// The day of its release.
    pub released: Option<String>,
    /// The day of its end.
    pub end_of_life: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// The gcc versions that the nvcc of some CUDA releases accepts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compilers {
    /// The first CUDA release of the range: `12.4`.
    pub cuda_from: String,
    /// The last one, included: `12.6.3`.
    pub cuda_to: String,
    /// The oldest gcc.
    pub gcc_min: Option<String>,
    /// The newest gcc, included: `13`, or `11.1` where the minor matters.
    pub gcc_max: Option<String>,
    /// What else is to know.
    pub note: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(System, PythonSource, Python, Compilers);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    checked: String,
    sources: Sources,
    systems: Vec<System>,
    pythons: Vec<Python>,
    python_sources: Vec<PythonSource>,
    compilers: Vec<Compilers>,
}

fn file() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut file: File = file::parse("systems.yaml", include_str!("../../catalog/systems.yaml"));
        file::complete(&mut file.systems, &file.checked, &file.sources);
        file::complete(&mut file.pythons, &file.checked, &file.sources);
        file::complete(&mut file.python_sources, &file.checked, &file.sources);
        file::complete(&mut file.compilers, &file.checked, &file.sources);
        file
    })
}

/// All systems, by family, oldest first.
pub fn all() -> &'static [System] {
    &file().systems
}

/// All Python series, oldest first.
pub fn pythons() -> &'static [Python] {
    &file().pythons
}

/// Where systems get their Pythons from.
pub fn python_sources() -> &'static [PythonSource] {
    &file().python_sources
}

/// Which compilers nvcc accepts, oldest CUDA first.
pub fn compilers() -> &'static [Compilers] {
    &file().compilers
}

/// The system with this id (`ubuntu22.04`).
pub fn system(id: &str) -> Option<&'static System> {
    all().iter().find(|row| row.id == id)
}

/// The Python series with this number (`3.12`).
pub fn python(series: &str) -> Option<&'static Python> {
    pythons().iter().find(|row| row.python == series)
}

/// Where a system gets a Python from; `None` where it is not known.
pub fn python_source(system: &str, python: &str) -> Option<&'static PythonSource> {
    python_sources().iter().find(|row| row.system == system && row.python == python)
}
