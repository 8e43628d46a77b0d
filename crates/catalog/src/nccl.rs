//! NCCL releases.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// An NCCL release and its known faults.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `2.21.5`.
    pub version: String,
    /// The day of its tag.
    pub released: Option<String>,
    /// What changed that matters here.
    #[serde(default)]
    pub notes: Vec<String>,
    /// A documented fault of this release that a later one fixes.
    pub known_bad: Option<String>,
    /// The fault is in builds for this CUDA major alone.
    pub known_bad_cuda_major: Option<u32>,
    /// The fault concerns GPUs of this compute capability alone.
    pub known_bad_capability: Option<String>,
    /// The fault costs speed only.
    #[serde(default)]
    pub known_bad_speed_only: bool,
    /// The release that fixes it.
    pub fixed_in: Option<String>,
    /// Whether ranks of different versions stop at init with a message; before, they may hang.
    pub checks_versions: Option<bool>,
    /// Compute capabilities that its makefile names, over all CUDA versions.
    pub architectures: Option<Vec<String>>,
    /// CUDA majors for which PyPI has wheels (`nvidia-nccl-cu12`).
    #[serde(default)]
    pub pypi_cuda_majors: Vec<u32>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Release, "nccl.yaml");

impl Table<Release> {
    /// By version: `2.21.5`.
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Release> {
        crate::testing::catalog().nccl()
    }

    #[test]
    fn reports_known_bugs_and_fixes_of_nccl_releases() {
        assert_eq!(table().release("2.21.5").unwrap().checks_versions, Some(false));
        assert_eq!(table().release("2.23.4").unwrap().checks_versions, Some(true));
        assert_eq!(table().release("2.28.3").unwrap().fixed_in.as_deref(), Some("2.28.7"));
        assert_eq!(table().release("2.32.3").unwrap().architectures, None);
        assert!(table().release("2.25.0").is_none());
    }
}
