//! Wheels of cuDNN that look for one of their own libraries by its name only: `catalog/cudnn_wheels.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Such a wheel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudnnWheel {
    /// `nvidia-cudnn-cu13`.
    pub package: String,
    /// Its whole version, with four numbers.
    pub version: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(CudnnWheel, "cudnn_wheels.yaml");

impl Table<CudnnWheel> {
    /// Whether the loader may take a part of another cuDNN for this wheel.
    pub fn loads_by_name(&self, package: &str, version: &str) -> bool {
        self.all().iter().any(|row| row.package == package && row.version == version)
    }
}
