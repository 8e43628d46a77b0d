//! Packages on PyPI that load cuDNN from the system.

use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Some releases of a package, and the cuDNN that they load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudnnUser {
    /// Normalised: `onnxruntime-gpu`.
    pub package: String,
    /// The first release for which it holds.
    pub from: String,
    /// The first release for which it no longer does; `None`: it holds for the newest.
    pub below: Option<String>,
    /// The major release of cuDNN: 9.
    pub cudnn: u32,
    /// The major release of CUDA that its wheels on PyPI are built for: 12.
    pub cuda: u32,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(CudnnUser, "cudnn_users.yaml");

impl Table<CudnnUser> {
    /// The row for a release of a package (`ctranslate2`, 4.5.0).
    pub fn of(&self, package: &str, version: &Version) -> Option<&CudnnUser> {
        let parse = |text: &str| Version::from_str(text).ok();
        self.all().iter().find(|row| {
            let above = parse(&row.from).is_some_and(|from| from <= *version);
            let below = row.below.as_deref().is_none_or(|end| parse(end).is_some_and(|end| *version < end));
            row.package == package && above && below
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_one_cudnn() {
        let of = |package: &str, version: &str| {
            let version = Version::from_str(version).unwrap();
            crate::testing::catalog().cudnn_users().of(package, &version).map(|row| row.cudnn)
        };
        assert_eq!(of("ctranslate2", "4.4.0"), Some(8));
        assert_eq!(of("ctranslate2", "4.5.0"), Some(9));
        assert_eq!(of("ctranslate2", "3.0.0"), None);
        assert_eq!(of("onnxruntime-gpu", "1.18.1"), Some(8));
        let onnx = crate::testing::catalog().cudnn_users().of("onnxruntime-gpu", &Version::new([1, 18, 1]));
        assert_eq!(onnx.map(|row| row.cuda), Some(11));
        for row in crate::testing::catalog().cudnn_users().all() {
            assert!(Version::from_str(&row.from).is_ok() && matches!(row.cudnn, 8 | 9), "{row:?}");
        }
    }
}
