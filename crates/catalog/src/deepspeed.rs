//! DeepSpeed releases.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;

/// A DeepSpeed release: requirements, and what its import needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `0.16.4`.
    pub version: String,
    pub released: Option<String>,
    /// What it requires of torch: a PEP 440 specifier; `None`: any version will do.
    pub torch: Option<String>,
    /// What it requires of pydantic: a PEP 440 specifier; `None`: any version will do.
    pub pydantic: Option<String>,
    /// Whether `import deepspeed` works with torch 2.4 or newer.
    pub imports_with_torch_2_4: Option<bool>,
    /// Whether `import deepspeed` works with numpy 2.
    pub imports_with_numpy_2: Option<bool>,
    /// Whether it needs setuptools at import on Python 3.12 and newer.
    pub needs_setuptools: Option<bool>,
    /// Key into the lists of CUDA minors among which nvcc and torch may differ; `None` where nobody looked.
    pub cuda_minors: Option<String>,
    /// The lists of that key.
    #[serde(skip)]
    minors: Option<CudaMinors>,
    /// Whether `DS_SKIP_CUDA_CHECK` skips the comparison of nvcc with torch.
    pub skip_cuda_check: Option<bool>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
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
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// Releases that do not work with something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incompatibility {
    pub id: String,
    /// The releases in question: a PEP 440 specifier.
    pub deepspeed: String,
    /// The package that they do not work with: `torch`, `numpy`, `pydantic`, `transformers`, `python`, or
    /// `cuda`. `None` where versions alone do not tell: see `with`.
    pub with_package: Option<String>,
    /// The versions of that package: a PEP 440 specifier; `None` where the version does not matter.
    pub with_versions: Option<String>,
    /// The Pythons to which the row is limited: a PEP 440 specifier; `None`: all.
    pub python: Option<String>,
    /// The package with which nothing happens.
    pub unless_package: Option<String>,
    pub breaks: Breaks,
    /// What they do not work with, in words.
    pub with: String,
    pub effect: String,
    pub fix: String,
    /// Whether it was tried, not only read.
    pub measured: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// What happens to releases together with something that they do not work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breaks {
    /// `import deepspeed`.
    Import,
    /// Building an operator, or installing DeepSpeed; `with` says on what condition.
    Build,
    /// Nothing for certain: `effect` says what to look after.
    Uncertain,
}

/// One operator, and what building it for NVIDIA GPUs needs besides a C++ compiler, ninja and Python's
/// headers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// `fused_adam`.
    pub name: String,
    /// The variable that has it built at installation: `DS_BUILD_FUSED_ADAM`.
    pub variable: String,
    /// The module that it becomes when it is built at installation: `deepspeed.ops.adam.fused_adam_op`;
    /// `None`: not known.
    pub module: Option<String>,
    /// The first release that has it; `None`: since 0.9.0 or longer.
    pub since: Option<String>,
    /// The last release that has it; `None`: the newest still does.
    pub until: Option<String>,
    /// Whether it has CUDA sources: nvcc must be there, and of a CUDA that goes with torch's.
    pub needs_nvcc: bool,
    /// Whether it is compiled against the headers of the CUDA toolkit: true for all that need nvcc, and for
    /// some others.
    pub needs_toolkit: bool,
    /// Libraries and packages beyond those: `libaio`, `cutlass`, `curand`, `cufile`, `deepspeed-kernels`,
    /// `triton`.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// The oldest compute capability for which it is built.
    pub compute_capability_min: Option<String>,
    /// The oldest CUDA that it takes, nvcc's and torch's.
    pub cuda_min: Option<String>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Release, CudaMinors, Incompatibility, Operator);

/// `catalog/deepspeed.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deepspeed {
    checked: String,
    sources: SharedSources,
    cuda_minors: Vec<CudaMinors>,
    rows: Vec<Release>,
    incompatibilities: Vec<Incompatibility>,
    operators: Vec<Operator>,
}

impl Contents for Deepspeed {
    const NAME: &str = "deepspeed.yaml";
    const TEXT: &str = file::text!("deepspeed.yaml");
}

file::sourced!(Deepspeed, [rows, cuda_minors, incompatibilities, operators], then derive_minors);

impl Deepspeed {
    /// The lists of CUDA minors that releases name.
    fn derive_minors(&mut self) {
        for row in &mut self.rows {
            let lists = row.cuda_minors.as_ref();
            row.minors =
                lists.and_then(|since| self.cuda_minors.iter().find(|list| list.since == *since)).cloned();
        }
    }
}

impl Release {
    /// The CUDA minors of a major among which this release lets nvcc and torch differ; empty where the major
    /// is not listed: then both must be the same. `None`: not known.
    pub fn cuda_minor_allowed(&self, major: u32) -> Option<&[String]> {
        self.minors.as_ref().map(|lists| lists.of(major))
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

impl Deepspeed {
    /// All releases, oldest first.
    pub fn all(&self) -> &[Release] {
        &self.rows
    }

    /// The lists of CUDA minors, oldest first.
    pub fn cuda_minors(&self) -> &[CudaMinors] {
        &self.cuda_minors
    }

    /// What releases do not work with.
    pub fn incompatibilities(&self) -> &[Incompatibility] {
        &self.incompatibilities
    }

    /// The operators, in the order of the alphabet.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// The operator with this name (`fused_adam`) or variable (`DS_BUILD_FUSED_ADAM`).
    pub fn operator(&self, name: &str) -> Option<&Operator> {
        self.operators().iter().find(|row| row.name == name || row.variable == name)
    }

    /// By version: `0.16.4`.
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }

    /// The CUDA minors of a major among which the newest release lets nvcc and torch differ; empty where the
    /// major is not listed. For a certain release see [`Release::cuda_minor_allowed`].
    pub fn cuda_minor_allowed(&self, major: u32) -> &[String] {
        self.cuda_minors().last().map_or(&[], |list| list.of(major))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Deepspeed {
        crate::testing::catalog().deepspeed()
    }

    #[test]
    fn reports_allowed_cuda_minors_per_release() {
        assert_eq!(
            table().release("0.12.1").unwrap().cuda_minor_allowed(12).unwrap(),
            ["12.0", "12.1", "12.2", "12.3"]
        );
        assert!(table().release("0.9.0").unwrap().cuda_minor_allowed(12).unwrap().is_empty());
        let newest = table().cuda_minor_allowed(12);
        assert!(newest.contains(&"12.9".to_owned()) && !newest.contains(&"12.7".to_owned()));
        assert!(table().cuda_minor_allowed(13).is_empty());
        assert_eq!(table().all().last().unwrap().cuda_minor_allowed(12).unwrap(), newest);
    }

    #[test]
    fn reports_torch_and_numpy_compatibility_per_release() {
        assert_eq!(table().release("0.14.0").unwrap().imports_with_torch_2_4, Some(false));
        assert_eq!(table().release("0.14.4").unwrap().imports_with_torch_2_4, Some(true));
        assert_eq!(table().release("0.14.3").unwrap().imports_with_numpy_2, Some(false));
        assert!(table().release("0.16.10").is_none());
        assert_eq!(table().all().last().unwrap().torch.as_deref(), Some(">=2.0.0"));
    }

    #[test]
    fn incompatibilities_name_versions_and_packages() {
        let row = |id| table().incompatibilities().iter().find(|row| row.id == id).unwrap();
        let torch = row("torch24-log");
        assert_eq!(
            (torch.deepspeed.as_str(), torch.with_package.as_deref(), torch.with_versions.as_deref()),
            (">=0.10.1,<=0.14.0", Some("torch"), Some(">=2.4"))
        );
        assert_eq!(torch.breaks, Breaks::Import);
        assert_eq!(row("py312-distutils").unless_package.as_deref(), Some("setuptools"));
        assert_eq!(row("cuda-version-check").with_package, None, "a rule, not a pair of versions");
    }

    #[test]
    fn reports_build_requirements_of_operators() {
        let aio = table().operator("async_io").unwrap();
        assert_eq!((aio.needs_nvcc, aio.libraries.as_slice()), (false, &["libaio".to_owned()][..]));
        assert!(table().operator("DS_BUILD_FUSED_ADAM").unwrap().needs_nvcc);
        let quantizer = table().operator("fp_quantizer").unwrap();
        assert_eq!(quantizer.compute_capability_min.as_deref(), Some("8.0"));
        assert!(!table().operator("cpu_adam").unwrap().needs_toolkit);
        assert!(table().operator("ccl_comm").is_none(), "for CPUs only");
    }
}
