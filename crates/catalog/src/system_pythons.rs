//! Packages of Pythons: those of dnf, and the archive that has more of them for Ubuntu. Rows of
//! `catalog/systems.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// The deadsnakes archive: Pythons for Ubuntu, in packages `python3.X`, `python3.X-venv` and `python3.X-dev`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadsnakes {
    /// The archive, as apt takes it.
    pub address: String,
    /// The fingerprint of the key that signs it.
    pub key: String,
    /// The server that has the key.
    pub keyserver: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// The packages of a Python on a system whose packages come through dnf.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnfPython {
    /// `rockylinux9`.
    pub system: String,
    /// `3.12`.
    pub python: String,
    /// The interpreter, which brings venv: `python3.12`.
    pub package: String,
    /// pip: `python3.12-pip`.
    pub pip: String,
    /// Its headers: `python3.12-devel`.
    pub headers: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Deadsnakes, DnfPython);
