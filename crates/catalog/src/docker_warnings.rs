//! Warnings of Docker Engine that matter for GPU work: `catalog/docker_warnings.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A warning in the engine's answer to `/info`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DockerWarning {
    /// A part of it: `No memory limit support`.
    pub words: String,
    /// What it means for containers, for readers of the catalog.
    pub about: String,
    /// The last engine series that gives it, of those that were read; `None`: the newest one does.
    pub last: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(DockerWarning, "docker_warnings.yaml");

impl Table<DockerWarning> {
    /// Whether a warning of the engine matters for GPU work.
    pub fn matters(&self, warning: &str) -> bool {
        self.all().iter().any(|row| warning.contains(&row.words))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ignores_blkio_warnings() {
        let table = crate::testing::catalog().docker_warnings();
        assert!(table.matters("WARNING: No memory limit support"));
        assert!(table.matters("CDI: Error associated with spec file /etc/cdi/nvidia.yaml: no such device"));
        assert!(!table.matters("WARNING: No blkio throttle.read_bps_device support"));
    }
}
