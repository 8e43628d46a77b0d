//! Names under which pip finds something else than what people mean.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A name, and what it stands for on the package index.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MisleadingPackage {
    /// Normalised: `flash-attn-3`.
    pub name: String,
    /// What pip finds, as a clause.
    pub problem: String,
    /// What to do instead, in the imperative.
    pub hint: String,
    /// The releases that stop when they are installed, as a specifier: `>=2.12`; None: it can be installed.
    #[serde(default)]
    pub refused: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(MisleadingPackage, "misleading_packages.yaml");

impl Table<MisleadingPackage> {
    /// By normalised name: `apex`.
    pub fn named(&self, name: &str) -> Option<&MisleadingPackage> {
        self.all().iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn none_is_a_package_of_the_catalog() {
        for row in crate::testing::catalog().misleading_packages().all() {
            assert!(crate::packages::names().all(|name| name != row.name), "{}", row.name);
            assert!(!row.problem.ends_with('.') && !row.hint.ends_with('.'), "{}", row.name);
        }
    }
}
