//! The order in which packages of a stack are chosen: `catalog/package_order.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// The place of a package is that of its row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagePlace {
    /// Its normalised name: `flash-attn`.
    pub package: String,
    /// Where this was read, or that we chose it.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(PackagePlace, "package_order.yaml");
