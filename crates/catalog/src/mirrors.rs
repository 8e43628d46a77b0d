//! Mirrors of PyPI and of the archives of Ubuntu and Debian, under short names.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// An organisation's mirrors of PyPI and of the Linux distributions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// What a user types: `tuna`.
    pub name: String,
    /// Whose it is, in a sentence.
    pub summary: String,
    /// Its index of Python packages.
    pub pip_index: String,
    /// Its archive of system packages: the address before `/ubuntu` or `/debian`.
    pub apt: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Mirror, "mirrors.yaml");

impl Table<Mirror> {
    /// By name: `tuna`.
    pub fn mirror(&self, name: &str) -> Option<&Mirror> {
        self.all().iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Mirror> {
        crate::testing::catalog().mirrors()
    }

    #[test]
    fn apt_mirrors_use_http_and_pip_mirrors_use_https() {
        assert!(table().all().is_sorted_by(|one, other| one.name < other.name));
        for row in table().all() {
            assert!(row.pip_index.starts_with("https://") && row.pip_index.ends_with("/simple"), "{row:?}");
            assert!(row.apt.starts_with("http://") && !row.apt.ends_with('/'), "{row:?}");
            assert!(
                row.summary.ends_with('.') && row.source.to_string().len() > 6 && !row.checked.is_empty(),
                "{row:?}"
            );
        }
    }
}
