//! DeepSpeed releases.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file::{self, Sources};

/// One DeepSpeed release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `0.16.4`.
    pub version: String,
    /// The day of its release.
    pub released: Option<String>,
    /// What it requires of torch.
    pub torch: Option<String>,
    /// What it requires of pydantic.
    pub pydantic: Option<String>,
    /// Whether `import deepspeed` works with torch 2.4 or newer.
    pub imports_with_torch_2_4: Option<bool>,
    /// Whether `import deepspeed` works with numpy 2.
    pub imports_with_numpy_2: Option<bool>,
    /// Whether it needs setuptools at import on Python 3.12 and newer.
    pub needs_setuptools: Option<bool>,
    /// Key into the lists of CUDA minors among which nvcc and torch may differ.
    pub cuda_minors: String,
    /// Whether `DS_SKIP_CUDA_CHECK` skips the comparison of nvcc with torch.
    pub skip_cuda_check: Option<bool>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// The CUDA minors, by major, among which nvcc and torch may differ; releases share these lists.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudaMinors {
    /// The first release with this list.
    pub since: String,
    /// CUDA 10.
    #[serde(default)]
    pub cuda_10: Vec<String>,
    /// CUDA 11.
    #[serde(default)]
    pub cuda_11: Vec<String>,
    /// CUDA 12.
    #[serde(default)]
    pub cuda_12: Vec<String>,
    /// CUDA 13: in no release so far.
    #[serde(default)]
    pub cuda_13: Vec<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

/// Releases that do not work with something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incompatibility {
    /// A name.
    pub id: String,
    /// The releases in question.
    pub deepspeed: String,
    /// What they do not work with.
    pub with: String,
    /// What happens.
    pub effect: String,
    /// What helps.
    pub fix: String,
    /// Whether it was tried, not only read.
    pub measured: bool,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Release, CudaMinors, Incompatibility);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    checked: String,
    sources: Sources,
    cuda_minors: Vec<CudaMinors>,
    rows: Vec<Release>,
    incompatibilities: Vec<Incompatibility>,
}

fn file() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut file: File = file::parse("deepspeed.yaml", include_str!("../../catalog/deepspeed.yaml"));
        file::complete(&mut file.cuda_minors, &file.checked, &file.sources);
        file::complete(&mut file.rows, &file.checked, &file.sources);
        file::complete(&mut file.incompatibilities, &file.checked, &file.sources);
        file
    })
}

impl Release {
    /// The CUDA minors of a major among which this release lets nvcc and torch differ; empty where the major is not listed:
    /// then both must be the same.
    pub fn cuda_minor_allowed(&self, major: u32) -> &'static [String] {
        cuda_minors().iter().find(|list| list.since == self.cuda_minors).map_or(&[], |list| list.of(major))
    }
}

impl CudaMinors {
    fn of(&self, major: u32) -> &[String] {
        match major {
            10 => &self.cuda_10,
            11 => &self.cuda_11,
            12 => &self.cuda_12,
            13 => &self.cuda_13,
            _ => &[],
        }
    }
}

/// All releases, oldest first.
pub fn all() -> &'static [Release] {
    &file().rows
}

/// The lists of CUDA minors, oldest first.
pub fn cuda_minors() -> &'static [CudaMinors] {
    &file().cuda_minors
}

/// What releases do not work with.
pub fn incompatibilities() -> &'static [Incompatibility] {
    &file().incompatibilities
}

/// The release with this version.
pub fn release(version: &str) -> Option<&'static Release> {
    all().iter().find(|row| row.version == version)
}

/// The CUDA minors of a major among which the newest release lets nvcc and torch differ; empty where the major is not
/// listed. For a certain release see [`Release::cuda_minor_allowed`].
pub fn cuda_minor_allowed(major: u32) -> &'static [String] {
    cuda_minors().last().map_or(&[], |list| list.of(major))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_minors_of_releases() {
        assert_eq!(release("0.12.1").unwrap().cuda_minor_allowed(12), ["12.0", "12.1", "12.2", "12.3"]);
        assert!(release("0.9.0").unwrap().cuda_minor_allowed(12).is_empty());
        let newest = cuda_minor_allowed(12);
        assert!(newest.contains(&"12.9".to_owned()) && !newest.contains(&"12.7".to_owned()));
        assert!(cuda_minor_allowed(13).is_empty());
        assert_eq!(all().last().unwrap().cuda_minor_allowed(12), newest);
    }

    #[test]
    fn releases() {
        assert_eq!(release("0.14.0").unwrap().imports_with_torch_2_4, Some(false));
        assert_eq!(release("0.14.4").unwrap().imports_with_torch_2_4, Some(true));
        assert_eq!(release("0.14.3").unwrap().imports_with_numpy_2, Some(false));
        assert!(release("0.16.10").is_none());
    }
}
