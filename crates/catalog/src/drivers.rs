//! NVIDIA's Linux driver branches.

use serde::Deserialize;

use super::file::{self, Table};
use super::version;
use crate::Sources;

/// One driver branch, named by the first number of its releases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// 535, 550, 580 …
    pub branch: u32,
    /// The CUDA version that the driver supports and `nvidia-smi` prints.
    pub cuda: Option<String>,
    /// `LTSB` (long term), `PB` (production) or `NFB` (new features).
    pub kind: Option<String>,
    /// Date of its first release.
    pub first_release: Option<String>,
    /// The last day of support that any source names: after it the branch is over by all of them.
    pub end_of_life: Option<String>,
    /// An earlier end that another source names, day or month: between the two its support is disputed.
    pub end_of_life_disputed: Option<String>,
    /// The oldest GPU architecture that it drives.
    pub oldest_architecture: Option<String>,
    pub latest: Option<String>,
    pub latest_date: Option<String>,
    /// The day on which it was the newest.
    pub latest_as_of: Option<String>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Branch, "drivers.yaml");

impl Table<Branch> {
    /// The branch with this number; `None` means that the catalog does not know it.
    pub fn branch(&self, number: u32) -> Option<&Branch> {
        self.all().iter().find(|row| row.branch == number)
    }

    /// The CUDA (`(12, 4)`) that a branch supports at least: its own, or that of the newest older branch of
    /// which it is known.
    pub fn cuda_at_least(&self, number: u32) -> Option<(u32, u32)> {
        let known = |row: &Branch| row.cuda.as_deref().and_then(version::minor);
        self.all().iter().rev().filter(|row| row.branch <= number).find_map(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Branch> {
        crate::testing::catalog().drivers()
    }

    #[test]
    fn reports_cuda_and_end_of_life_of_driver_branches() {
        let long_term = table().branch(580).unwrap();
        assert_eq!(long_term.cuda.as_deref(), Some("13.0"));
        assert_eq!(long_term.kind.as_deref(), Some("LTSB"));
        assert_eq!(table().branch(535).unwrap().end_of_life.as_deref(), Some("2026-06-01"));
        assert_eq!(table().branch(565).unwrap().cuda.as_deref(), Some("12.7"));
        // Sources contradict each other on 610, and 615 has no date at all.
        assert_eq!(table().branch(610).unwrap().end_of_life_disputed.as_deref(), Some("2026-08"));
        assert_eq!(table().branch(615).unwrap().end_of_life, None);
        assert!(table().branch(551).is_none());
    }

    #[test]
    fn unlisted_branch_supports_cuda_of_the_branch_before() {
        assert_eq!(table().cuda_at_least(550), Some((12, 4)));
        assert_eq!(table().cuda_at_least(551), Some((12, 4)), "what is newer knows no less");
        assert_eq!(table().cuda_at_least(418), None);
    }
}
