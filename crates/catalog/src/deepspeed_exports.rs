//! Variables that DeepSpeed's launcher forwards: `catalog/deepspeed_exports.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Variables whose names begin alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedVariables {
    /// How the names begin: `NCCL`.
    pub prefix: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(ExportedVariables, "deepspeed_exports.yaml");

impl Table<ExportedVariables> {
    /// Whether the launcher forwards a variable that is set where it runs.
    pub fn forwards(&self, name: &str) -> bool {
        self.all().iter().any(|row| name.starts_with(&row.prefix))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn variables_of_nccl_are_forwarded_and_those_of_gloo_are_not() {
        let table = crate::testing::catalog().deepspeed_exports();
        assert!(table.forwards("NCCL_SOCKET_IFNAME") && table.forwards("PYTHONPATH"));
        assert!(!table.forwards("GLOO_SOCKET_IFNAME") && !table.forwards("TORCH_NCCL_BLOCKING_WAIT"));
    }
}
