//! The prebuilt wheels of flash-attn: assets of its GitHub releases, made for one torch, CUDA major, Python and C++ ABI each.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

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
    /// When.
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
    /// Pythons.
    pub pythons: Vec<String>,
    /// C++ ABIs: `true` is the new one.
    pub cxx11_abi: Vec<bool>,
}

file::rows!(Release);

/// All releases whose wheels are known, oldest first.
pub fn all() -> &'static [Release] {
    static ROWS: OnceLock<Vec<Release>> = OnceLock::new();
    ROWS.get_or_init(|| file::table("flash_attn.yaml", include_str!("../../catalog/flash_attn.yaml")))
}

/// The wheels of a release; `None` where they are not known.
pub fn release(version: &str) -> Option<&'static Release> {
    all().iter().find(|row| row.version == version)
}

impl Release {
    /// Whether there is a wheel for this torch series (`2.5`), CUDA major, Python and ABI (Linux x86_64).
    pub fn has(&self, torch: &str, cuda: u32, python: &str, cxx11_abi: bool) -> bool {
        self.wheels.iter().any(|set| {
            set.torch.iter().any(|series| series == torch)
                && set.cuda.contains(&cuda)
                && set.pythons.iter().any(|one| one == python)
                && set.cxx11_abi.contains(&cxx11_abi)
        })
    }
}
