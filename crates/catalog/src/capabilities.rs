//! Capabilities of Linux that Docker takes: `catalog/capabilities.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A capability.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// Without its prefix: `IPC_LOCK`; `ALL` stands for every one.
    pub name: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Capability, "capabilities.yaml");

impl Table<Capability> {
    /// Every name, without its prefix.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().iter().map(|row| row.name.as_str())
    }

    /// Whether Docker takes it: in any case, with the prefix `CAP_` or without.
    pub fn has(&self, written: &str) -> bool {
        let upper = written.to_ascii_uppercase();
        let bare = upper.strip_prefix("CAP_").unwrap_or(&upper);
        self.names().any(|name| name == bare)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_taken_in_any_case_and_with_their_prefix() {
        let table = crate::testing::catalog().capabilities();
        for name in ["IPC_LOCK", "cap_sys_admin", "CAP_NET_RAW", "ALL"] {
            assert!(table.has(name), "{name}");
        }
        assert!(!table.has("IPC-LOCK") && !table.has("CAP_") && !table.has(""));
    }
}
