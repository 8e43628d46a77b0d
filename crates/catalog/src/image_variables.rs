//! Variables by which base images tell what they contain: `catalog/image_variables.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// A variable of an image.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageVariable {
    /// `NV_CUDNN_VERSION`.
    pub variable: String,
    /// What its value is the version of: `cuDNN`.
    #[serde(rename = "tells")]
    pub component: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(ImageVariable, "image_variables.yaml");
