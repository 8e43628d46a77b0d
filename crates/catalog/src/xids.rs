//! Xids: the numbers under which NVIDIA's driver reports GPU faults to the kernel log.

use serde::Deserialize;

use super::file::{self, Table};
use super::severity::Severity;
use crate::Sources;

/// What usually causes a fault, where it is not the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    Program,
}

/// A fault number of the GPU driver, with its meaning and remedy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Xid {
    /// 79.
    pub number: u32,
    /// A short name.
    pub name: String,
    /// What it means for the machine.
    pub severity: Severity,
    /// What usually causes it, where that is not the GPU.
    pub cause: Option<Cause>,
    pub meaning: String,
    pub action: String,
    /// The immediate action by NVIDIA's catalogue for Ampere and newer: `RESTART_APP`, `RESET_GPU` …
    pub nvidia: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Xid, "xids.yaml");

impl Table<Xid> {
    /// By number: 79.
    pub fn xid(&self, number: u32) -> Option<&Xid> {
        self.all().binary_search_by_key(&number, |row| row.number).ok().map(|index| &self.all()[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Xid> {
        crate::testing::catalog().xids()
    }

    #[test]
    fn finds_severity_by_xid() {
        assert_eq!(table().xid(79).unwrap().severity, Severity::Fatal);
        let of_program = table().xid(13).unwrap();
        assert_eq!((of_program.severity, of_program.cause), (Severity::Warning, Some(Cause::Program)));
        assert_eq!(table().xid(63).unwrap().severity, Severity::Info);
        assert_eq!(table().xid(119).unwrap().nvidia.as_deref(), Some("RESET_GPU"));
        assert!(table().xid(0).is_none() && table().xid(42).is_none() && table().xid(999).is_none());
        assert!(Severity::Fatal > Severity::Error && Severity::Warning > Severity::Info);
    }
}
