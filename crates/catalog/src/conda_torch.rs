//! The builds of PyTorch on the conda channel pytorch: `catalog/conda_torch.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use super::version;
use crate::Sources;

/// A release of PyTorch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CondaTorch {
    /// `2.5`.
    pub torch: String,
    /// The CUDA releases of its builds, oldest first: `12.4`.
    pub cuda: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(CondaTorch, "conda_torch.yaml");

impl CondaTorch {
    /// Its release as numbers.
    pub fn release(&self) -> Option<(u32, u32)> {
        version::minor(&self.torch)
    }
}

impl Table<CondaTorch> {
    /// The builds of a release.
    pub fn of_release(&self, release: (u32, u32)) -> Option<&CondaTorch> {
        self.all().iter().find(|row| row.release() == Some(release))
    }

    /// The builds of the last release that the channel has.
    pub fn newest(&self) -> Option<&CondaTorch> {
        self.all().last()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn releases_and_their_builds_are_versions() {
        let table = crate::testing::catalog().conda_torch();
        for row in table.all() {
            let builds = row.cuda.iter().filter(|cuda| super::version::minor(cuda).is_some());
            assert!(row.release().is_some() && builds.count() == row.cuda.len(), "{}", row.torch);
        }
        assert_eq!(table.newest().and_then(super::CondaTorch::release), Some((2, 5)));
        assert!(table.of_release((1, 12)).is_none());
    }
}
