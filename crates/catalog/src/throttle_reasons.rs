//! Why a GPU runs below its highest clock: `catalog/throttle_reasons.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A reason that `nvidia-smi` reports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottleReason {
    /// Without the prefix of its element: `hw_thermal_slowdown`.
    pub name: String,
    /// Whether it is a fault, and of what.
    pub kind: Kind,
    /// What it means for the GPU; faults have one.
    pub meaning: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// What stands behind a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The GPU or its memory is too hot.
    Heat,
    /// The power supply, or what limits it in hardware.
    Power,
    /// A limit that a loaded GPU reaches.
    Limit,
    /// Nothing asks for a higher clock.
    Setting,
}

file::table!(ThrottleReason, "throttle_reasons.yaml");

impl Table<ThrottleReason> {
    /// The row of a reason; `None` for one that the catalog does not know.
    pub fn reason(&self, name: &str) -> Option<&ThrottleReason> {
        self.all().iter().find(|row| row.name == name)
    }

    /// The faults, the one to show first at the start.
    pub fn faults(&self) -> impl Iterator<Item = &ThrottleReason> {
        self.all().iter().filter(|row| matches!(row.kind, Kind::Heat | Kind::Power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fault_reasons_have_an_explanation() {
        let table = crate::testing::catalog().throttle_reasons();
        for row in table.all() {
            assert_eq!(row.meaning.is_some(), table.faults().any(|fault| fault == row), "{}", row.name);
        }
        assert_eq!(table.faults().next().unwrap().name, "hw_thermal_slowdown");
        assert_eq!(table.reason("gpu_idle").unwrap().kind, Kind::Setting);
        assert!(table.reason("reliability").is_none());
    }
}
