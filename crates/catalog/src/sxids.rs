//! SXids: the numbers under which NVIDIA's driver reports errors of NVSwitches to the kernel log.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

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
    /// In words.
    pub fn says(self) -> &'static str {
        match self {
            Class::NonFatal => "not fatal",
            Class::Fatal => "fatal to the link or the guest",
            Class::AlwaysFatal => "fatal to the whole fabric",
            Class::Other => "in neither list of NVIDIA's guide, fatal or not",
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A notice.
    Info,
    /// It may become worse.
    Warning,
    /// Something went wrong.
    Error,
    /// Something does not work until it is reset.
    Fatal,
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
    /// How bad it is.
    pub severity: Severity,
    /// What happened.
    pub meaning: String,
    /// What to do.
    pub action: String,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Sxid);

/// All SXids, by number.
pub fn all() -> &'static [Sxid] {
    static ROWS: OnceLock<Vec<Sxid>> = OnceLock::new();
    ROWS.get_or_init(|| file::table("sxids.yaml", include_str!("../../../catalog/sxids.yaml")))
}

/// The SXid with this number.
pub fn sxid(number: u32) -> Option<&'static Sxid> {
    all().binary_search_by_key(&number, |row| row.number).ok().map(|place| &all()[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(sxid(10003).unwrap().class, Class::AlwaysFatal);
        assert_eq!(sxid(11012).unwrap().severity, Severity::Info);
        assert!(sxid(0).is_none() && sxid(79).is_none());
    }
}
