//! SXids: the numbers under which NVIDIA's driver reports errors of NVSwitches to the kernel log.

use serde::Deserialize;

use super::file::{self, Table};
use super::severity::Severity;
use crate::Sources;

/// What an error does to the fabric, by NVIDIA's guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The fabric goes on working.
    NonFatal,
    /// A link, or the guest that uses it, stops working.
    Fatal,
    /// The whole fabric stops working.
    AlwaysFatal,
    /// The guide has it in neither list.
    Other,
}

impl Class {
    pub fn description(self) -> &'static str {
        match self {
            Class::NonFatal => "not fatal",
            Class::Fatal => "fatal to the link or the guest",
            Class::AlwaysFatal => "fatal to the whole fabric",
            Class::Other => "in neither list of NVIDIA's guide, fatal or not",
        }
    }
}

/// One SXid. The line in the kernel's log says itself whether it was fatal, which counts more than the row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sxid {
    /// 12028.
    pub number: u32,
    /// A short name.
    pub name: String,
    /// What it does to the fabric.
    pub class: Class,
    pub severity: Severity,
    pub meaning: String,
    pub action: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Sxid, "sxids.yaml");

impl Table<Sxid> {
    /// By number: 20034.
    pub fn sxid(&self, number: u32) -> Option<&Sxid> {
        self.all().binary_search_by_key(&number, |row| row.number).ok().map(|index| &self.all()[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Sxid> {
        crate::testing::catalog().sxids()
    }

    #[test]
    fn finds_class_and_severity_by_sxid() {
        assert_eq!(table().sxid(10003).unwrap().class, Class::AlwaysFatal);
        assert_eq!(table().sxid(11012).unwrap().severity, Severity::Info);
        assert!(table().sxid(0).is_none() && table().sxid(79).is_none());
    }
}
