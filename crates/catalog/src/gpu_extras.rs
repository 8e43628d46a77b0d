//! Extras that bring the libraries of CUDA: `catalog/gpu_extras.yaml`.

use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// An extra of a package, and the first release that has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuExtra {
    /// Normalised: `tensorflow`.
    pub package: String,
    /// `and-cuda`.
    pub extra: String,
    /// `2.14.0`.
    pub since: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

file::table!(GpuExtra, "gpu_extras.yaml");

impl Table<GpuExtra> {
    /// The row of an extra that a release does not have yet.
    pub fn missing(&self, package: &str, extra: &str, version: &Version) -> Option<&GpuExtra> {
        self.all().iter().find(|row| {
            row.package == package
                && row.extra == extra
                && Version::from_str(&row.since).is_ok_and(|since| *version < since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_begin_with_a_release() {
        let missing = |version: &str| {
            let version = Version::from_str(version).unwrap();
            crate::testing::catalog().gpu_extras().missing("tensorflow", "and-cuda", &version).is_some()
        };
        assert!(missing("2.13.1") && missing("2.9.0") && !missing("2.14.0") && !missing("2.16.1"));
    }
}
