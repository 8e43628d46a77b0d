//! Beginnings of names of variables that belong to the stack: `catalog/variable_families.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A beginning of names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableFamily {
    /// `NCCL_`.
    pub prefix: String,
    /// Where this was read, or that we chose it.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(VariableFamily, "variable_families.yaml");

impl Table<VariableFamily> {
    /// Whether a name begins like the stack's own.
    pub fn has(&self, name: &str) -> bool {
        self.all().iter().any(|row| name.starts_with(&row.prefix))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::catalog;

    #[test]
    fn each_family_has_a_variable_that_is_read() {
        let variables = catalog().variables().all();
        for row in catalog().variable_families().all() {
            assert!(variables.iter().any(|one| one.name.starts_with(&row.prefix)), "{}", row.prefix);
        }
        assert!(catalog().variable_families().has("NCCL_DEBG"));
        assert!(!catalog().variable_families().has("MASTER_ADDRESS"));
    }
}
