//! Packages with a build for the GPU under a name of its own: `catalog/gpu_builds.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// Two packages that install the same module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuBuild {
    /// Normalised: `onnxruntime-gpu`.
    pub gpu: String,
    /// Normalised: `onnxruntime`.
    pub cpu: String,
    /// `onnxruntime`.
    pub module: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

file::table!(GpuBuild, "gpu_builds.yaml");

#[cfg(test)]
mod tests {
    #[test]
    fn both_builds_have_names_of_their_own() {
        let rows = crate::testing::catalog().gpu_builds().all();
        assert!(rows.iter().any(|row| row.gpu == "onnxruntime-gpu" && row.cpu == "onnxruntime"));
        assert!(rows.iter().all(|row| row.gpu != row.cpu));
    }
}
