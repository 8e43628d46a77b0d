//! How NVIDIA's packages are named: `catalog/nvidia_packages.yaml`.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;

/// Packages whose names begin alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// `libnvidia`.
    pub prefix: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

/// A package that carries a part of the driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverPackage {
    /// How its name begins.
    pub name: String,
    /// Whether that is the whole name.
    #[serde(default)]
    pub exact: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Family, DriverPackage);

/// `catalog/nvidia_packages.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvidiaPackages {
    checked: String,
    sources: SharedSources,
    families: Vec<Family>,
    driver: Vec<DriverPackage>,
}

impl Contents for NvidiaPackages {
    const NAME: &str = "nvidia_packages.yaml";
    const TEXT: &str = file::text!("nvidia_packages.yaml");
}

file::sourced!(NvidiaPackages, [families, driver]);

impl NvidiaPackages {
    /// How the names of all of them begin, in the order of the alphabet.
    pub fn prefixes(&self) -> Vec<&str> {
        self.families.iter().map(|row| row.prefix.as_str()).collect()
    }

    /// Whether a package carries a part of the driver: kernel module, firmware, user libraries, `nvidia-smi`.
    pub fn is_driver(&self, name: &str) -> bool {
        let is = |row: &DriverPackage| if row.exact { name == row.name } else { name.starts_with(&row.name) };
        self.driver.iter().any(is)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_driver_package_matches_a_known_prefix() {
        let table = crate::testing::catalog().nvidia_packages();
        let families = table.prefixes();
        for row in &table.driver {
            assert!(families.iter().any(|family| row.name.starts_with(family)), "{}", row.name);
        }
        assert!(table.is_driver("nvidia-lts") && !table.is_driver("nvidia-container-toolkit"));
    }
}
