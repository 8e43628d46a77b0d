//! The prebuilt wheels of flash-attn: assets of its GitHub releases, made for one torch, CUDA major, Python
//! and C++ ABI each.

use serde::Deserialize;

use super::file::{self, Table};

/// The wheels of one release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `2.8.3`.
    pub version: String,
    /// The wheels, as sets in which every combination exists.
    pub wheels: Vec<Wheels>,
    /// The glibc of the system that they were built on: pip does not check it, the loader does.
    pub glibc: Option<String>,
    /// Whether the same set exists for Linux aarch64.
    pub aarch64: bool,
    /// Where this was read.
    pub source: String,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A set of wheels: every combination of its parts exists.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheels {
    /// Series of torch (`2.5`): the wheel's name carries no patch number.
    pub torch: Vec<String>,
    /// CUDA majors.
    pub cuda: Vec<u32>,
    /// Python series: `3.12`.
    pub pythons: Vec<String>,
    /// C++ ABIs: `true` is the new one.
    pub cxx11_abi: Vec<bool>,
    /// True where they were built with a nightly torch of that series: whether they load with its releases is
    /// not known.
    #[serde(default)]
    pub nightly: bool,
}

file::table!(Release, "flash_attn.yaml");

impl Table<Release> {
    /// The wheels of a release; `None` where they are not known.
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }
}

impl Release {
    /// Whether there is a wheel for this torch series (`2.5`), CUDA major, Python and ABI (Linux x86_64);
    /// those that were built with a nightly torch do not count.
    pub fn has(&self, torch: &str, cuda: u32, python: &str, cxx11_abi: bool) -> bool {
        self.wheels.iter().any(|set| {
            !set.nightly
                && set.torch.iter().any(|series| series == torch)
                && set.cuda.contains(&cuda)
                && set.pythons.iter().any(|one| one == python)
                && set.cxx11_abi.contains(&cxx11_abi)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{file::Row, testing::catalog};

    fn table() -> &'static Table<Release> {
        crate::testing::catalog().flash_attn()
    }

    #[test]
    fn wheels() {
        let newest = table().release("2.8.3").unwrap();
        assert!(newest.has("2.8", 12, "3.13", true) && newest.has("2.8", 12, "3.13", false));
        assert!(newest.has("2.4", 12, "3.12", true) && !newest.has("2.4", 12, "3.13", true));
        assert!(!newest.has("2.8", 11, "3.12", true) && !newest.has("2.9", 12, "3.12", true));
        // Made with a nightly torch 2.6 in 2.7.3, with 2.6.0 in 2.7.4.
        assert!(!table().release("2.7.3").unwrap().has("2.6", 12, "3.12", false));
        assert!(table().release("2.7.4.post1").unwrap().has("2.6", 12, "3.12", false));
        assert!(table().release("2.8.3.post2").is_none());
    }

    #[test]
    fn rows_keep_their_rules() {
        let known = &catalog().package("flash-attn").unwrap().rows;
        for row in table().all() {
            assert!(
                known.iter().any(|package| package.releases.contains_key(&row.version)),
                "{}",
                row.version
            );
            let mut copy = row.clone();
            let (source, checked) = copy.provenance();
            assert!(source.contains(&format!("@v{}", row.version)), "{source}");
            assert!(checked.parse::<jiff::civil::Date>().is_ok());
            for set in &row.wheels {
                for series in &set.torch {
                    let exists = catalog()
                        .torch()
                        .all()
                        .iter()
                        .any(|one| one.version.starts_with(&format!("{series}.")));
                    assert!(exists, "{}: torch {series}", row.version);
                }
                let parts = [set.cuda.len(), set.pythons.len(), set.cxx11_abi.len(), set.torch.len()];
                assert!(!parts.contains(&0), "{}", row.version);
            }
        }
    }
}
