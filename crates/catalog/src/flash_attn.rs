//! The prebuilt wheels of flash-attn: assets of its GitHub releases, made for one torch, CUDA major, Python
//! and C++ ABI each.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

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
    pub source: Sources,
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
    /// True where they were built by hand after the release: on which system, and so the glibc, is not known.
    #[serde(default)]
    pub by_hand: bool,
    /// True where these exist for Linux aarch64 although those of the release do not.
    #[serde(default)]
    pub aarch64: bool,
}

/// What a wheel is made for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Series of torch: `2.5`.
    pub torch: &'a str,
    /// CUDA major.
    pub cuda: u32,
    /// The C++ ABI of torch; `true` is the new one.
    pub cxx11_abi: bool,
    /// `x86_64`, `aarch64`.
    pub architecture: &'a str,
}

file::table!(Release, "flash_attn.yaml");

impl Table<Release> {
    /// The wheels of a release; `None` where they are not known.
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }
}

impl Release {
    /// The sets of wheels for a target, those built with a nightly torch among them.
    pub fn sets<'s>(&'s self, target: Target<'s>) -> impl Iterator<Item = &'s Wheels> {
        self.wheels.iter().filter(move |set| {
            self.exists_for(set, target.architecture)
                && set.torch.iter().any(|series| series == target.torch)
                && set.cuda.contains(&target.cuda)
                && set.cxx11_abi.contains(&target.cxx11_abi)
        })
    }

    /// Whether there is any wheel for an architecture.
    pub fn is_for(&self, architecture: &str) -> bool {
        self.wheels.iter().any(|set| self.exists_for(set, architecture))
    }

    fn exists_for(&self, set: &Wheels, architecture: &str) -> bool {
        match architecture {
            "x86_64" => true,
            "aarch64" => self.aarch64 || set.aarch64,
            _ => false,
        }
    }

    /// Whether there is a wheel for a target and this Python; those that were built with a nightly torch do
    /// not count.
    pub fn has(&self, target: Target<'_>, python: &str) -> bool {
        self.sets(target).any(|set| !set.nightly && set.pythons.iter().any(|one| one == python))
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
    fn reports_wheels_per_torch_cuda_python_and_abi() {
        let has = |version: &str, torch, cuda, python, cxx11_abi| {
            let target = Target { torch, cuda, cxx11_abi, architecture: "x86_64" };
            table().release(version).unwrap().has(target, python)
        };
        assert!(has("2.8.3", "2.8", 12, "3.13", true) && has("2.8.3", "2.8", 12, "3.13", false));
        assert!(has("2.8.3", "2.4", 12, "3.12", true) && !has("2.8.3", "2.4", 12, "3.13", true));
        assert!(!has("2.8.3", "2.8", 11, "3.12", true) && !has("2.8.3", "2.9", 12, "3.11", true));
        // Built by hand, for Python 3.12 and the new ABI only.
        assert!(has("2.8.3", "2.9", 12, "3.12", true) && !has("2.8.3", "2.9", 12, "3.12", false));
        // Made with a nightly torch 2.6 in 2.7.3, with 2.6.0 in 2.7.4.
        assert!(!has("2.7.3", "2.6", 12, "3.12", false));
        assert!(has("2.7.4.post1", "2.6", 12, "3.12", false));
        let arm = Target { torch: "2.9", cuda: 12, cxx11_abi: true, architecture: "aarch64" };
        assert!(table().release("2.8.3").unwrap().has(arm, "3.12"));
        assert!(!table().release("2.8.2").unwrap().is_for("aarch64"));
        assert!(table().release("2.8.3.post2").is_none());
    }

    #[test]
    fn rows_refer_to_known_releases_and_have_sources() {
        let known = &catalog().package("flash-attn").unwrap().rows;
        for row in table().all() {
            assert!(
                known.iter().any(|package| package.releases.contains_key(&row.version)),
                "{}",
                row.version
            );
            let mut copy = row.clone();
            let (source, checked) = copy.provenance();
            assert!(source.to_string().contains(&format!("@v{}", row.version)), "{source}");
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
