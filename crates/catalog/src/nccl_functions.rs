//! Functions of NCCL whose lack is known to stop `import torch`: `catalog/nccl_functions.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use super::version::at_least;
use crate::Sources;

/// A function of NCCL.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NcclFunction {
    /// `ncclCommRegister`.
    pub function: String,
    /// The first release that has it.
    pub since: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(NcclFunction, "nccl_functions.yaml");

impl Table<NcclFunction> {
    /// A function that the release `newer` has and `older` lacks.
    pub fn between(&self, older: &str, newer: &str) -> Option<&NcclFunction> {
        self.all().iter().find(|row| {
            at_least(newer, &row.since) == Some(true) && at_least(older, &row.since) == Some(false)
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn functions_that_came_between_two_releases() {
        let table = crate::testing::catalog().nccl_functions();
        let between = |older, newer| table.between(older, newer).map(|row| row.function.as_str());
        assert_eq!(between("2.18.1", "2.21.5"), Some("ncclCommRegister"));
        assert_eq!(between("2.19.1", "2.21.5"), None, "2.19.1 has it");
        assert_eq!(between("2.28.9", "2.29.7"), Some("ncclCommResume"));
        assert_eq!(between("2.20.5", "2.21.5"), None);
        assert_eq!(between("2.21.5", "2.18.1"), None);
    }
}
