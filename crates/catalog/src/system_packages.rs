//! Packages of Debian and Ubuntu, and whether they bring Python: `catalog/system_packages.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A package, with what its installation brings along.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPackage {
    /// `build-essential`.
    pub package: String,
    pub brings: Brings,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

/// How much of Python comes with a package that apt installs, with what it depends on and recommends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Brings {
    NoPython,
    /// python3, without pip.
    Python3,
}

file::table!(SystemPackage, "system_packages.yaml");

impl Table<SystemPackage> {
    /// The row of a package; `None` where it is not known what it brings.
    pub fn of(&self, package: &str) -> Option<&SystemPackage> {
        self.all().iter().find(|row| row.package == package)
    }
}

#[cfg(test)]
mod tests {
    use super::Brings;

    #[test]
    fn packages_with_and_without_python() {
        let table = crate::testing::catalog().system_packages();
        let brings = |name: &str| table.of(name).map(|row| row.brings);
        assert_eq!(brings("curl"), Some(Brings::NoPython));
        assert_eq!(brings("software-properties-common"), Some(Brings::Python3));
        assert_eq!(brings("python3-pip"), None);
    }
}
