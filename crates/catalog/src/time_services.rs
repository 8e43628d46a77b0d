//! Services that keep a machine's clock: `catalog/time_services.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A service that keeps the clock.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeService {
    /// How the names of its systemd units begin: `chrony`.
    pub unit: String,
    /// The program: `chronyd`.
    pub program: String,
    /// Whether the kernel's clock state (`adjtimex`) tells if it has synchronised the clock.
    pub reports_to_kernel: bool,
    /// The command that shows its servers: `chronyc sources`; `None` for one that does not report.
    pub status: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(TimeService, "time_services.yaml");

impl Table<TimeService> {
    /// By program: `chronyd`.
    pub fn program(&self, program: &str) -> Option<&TimeService> {
        self.all().iter().find(|row| row.program == program)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn services_that_set_kernel_sync_have_a_status_command() {
        let table = crate::testing::catalog().time_services();
        for row in table.all() {
            assert_eq!(row.reports_to_kernel, row.status.is_some(), "{}", row.program);
        }
        assert_eq!(table.program("chronyd").unwrap().status.as_deref(), Some("chronyc sources"));
        assert!(table.program("ptp4l").is_none());
    }
}
