//! CUDA toolkits, the drivers they need, and the GPU architectures they know.

use std::cmp::Ordering;

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use super::version::{self, compare};
use crate::Sources;

/// One toolkit release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `12.4.1`.
    pub toolkit: String,
    /// The driver that comes with it and that its full features need (Linux, x86_64).
    pub driver_min: Option<String>,
    /// The driver that minor-version compatibility needs at least: the same for every release of the major.
    pub driver_min_minor_compat: Option<String>,
    /// The version of PyPI's cuda-toolkit that stands for this release: `13.0.3.0`; `None` where PyPI has
    /// none.
    pub metapackage: Option<String>,
    /// The nvidia-cuda-runtime that belongs to it: `13.0.96`. Releases may share one.
    pub runtime: Option<String>,
    /// The nvcc that belongs to it: `13.0.88`.
    pub nvcc: Option<String>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// What holds for all releases of a major version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Major {
    /// 11, 12, 13.
    pub major: u32,
    /// The oldest driver on which programs of this major run (without PTX of a newer minor).
    pub driver_min: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// One compute capability.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// `Hopper`.
    pub architecture: String,
    /// `9.0`.
    pub compute_capability: String,
    /// Whether only chips with a GPU of their own (Jetson, Drive) have it: programs for discrete GPUs need
    /// not run there.
    #[serde(default)]
    pub tegra: bool,
    /// What people call the chips that have it: `orin`.
    #[serde(default)]
    pub names: Vec<String>,
    /// The first toolkit that compiles for it.
    pub first_toolkit: Option<String>,
    /// The last toolkit that compiles for it; `None` where none is known to be the last.
    pub last_toolkit: Option<String>,
    /// The last driver branch that drives it; `None` where none is known to be the last.
    pub last_driver_branch: Option<u32>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// On which older driver branches a toolkit's `cuda-compat` package works (data-centre cards).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardCompatibility {
    /// `12.4`.
    pub toolkit: String,
    /// The branches that the label of the `nvidia/cuda` images accepts for data-centre cards.
    pub driver_branches: Vec<u32>,
    /// Those of them that the label accepts with GeForce and Titan cards too, where the package does not
    /// work.
    #[serde(default)]
    pub geforce_branches: Vec<u32>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Release, Major, Architecture, ForwardCompatibility);

/// `catalog/cuda.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cuda {
    checked: String,
    sources: SharedSources,
    rows: Vec<Release>,
    majors: Vec<Major>,
    architectures: Vec<Architecture>,
    forward_compatibility: Vec<ForwardCompatibility>,
    /// The compute capabilities of `architectures` that are Tegra's.
    #[serde(skip)]
    tegra: Vec<(u32, u32)>,
}

impl Contents for Cuda {
    const NAME: &str = "cuda.yaml";
    const TEXT: &str = file::text!("cuda.yaml");
}

file::sourced!(Cuda, [rows, majors, architectures, forward_compatibility], then derive_metapackages);

impl Cuda {
    /// The metapackages that have the name of their toolkit, and the chips of Tegra.
    fn derive_metapackages(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.runtime.is_some()) {
            row.metapackage.get_or_insert_with(|| row.toolkit.clone());
        }
        let number = |row: &Architecture| {
            let (major, minor) = row.compute_capability.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        self.tegra = self.architectures.iter().filter(|row| row.tegra).filter_map(number).collect();
    }
}

impl Cuda {
    /// All toolkit releases, oldest first.
    pub fn all(&self) -> &[Release] {
        &self.rows
    }

    pub fn majors(&self) -> &[Major] {
        &self.majors
    }

    /// All architectures, oldest first.
    pub fn architectures(&self) -> &[Architecture] {
        &self.architectures
    }

    /// Whether a compute capability is that of a Tegra chip: `(8, 7)` is.
    pub fn is_tegra(&self, capability: (u32, u32)) -> bool {
        self.tegra.contains(&capability)
    }

    /// The architecture of the Tegra chip that people call so: `thor`, `Jetson Orin`, `Jetson AGX Orin`.
    pub fn tegra_named(&self, name: &str) -> Option<&Architecture> {
        let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
        let short = name.strip_prefix("jetson-").unwrap_or(&name);
        self.architectures.iter().find(|row| row.names.iter().any(|own| *own == name || own == short))
    }

    /// All rows on forward compatibility.
    pub fn forward_compatibilities(&self) -> &[ForwardCompatibility] {
        &self.forward_compatibility
    }

    /// The toolkit release with this full version (`12.4.1`).
    pub fn release(&self, toolkit: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.toolkit == toolkit)
    }

    /// The first release of a minor version (`12.4`); a full version is taken by its first two numbers.
    pub fn minor(&self, toolkit: &str) -> Option<&Release> {
        self.of_minor(version::minor(toolkit).filter(|_| toolkit.contains('.'))?)
    }

    /// The first release of a minor version, by its numbers.
    pub fn of_minor(&self, minor: (u32, u32)) -> Option<&Release> {
        self.all().iter().find(|row| version::minor(&row.toolkit) == Some(minor))
    }

    /// The release for which this version of PyPI's cuda-toolkit stands (`13.0.3` and `13.0.3.0` alike).
    pub fn of_metapackage(&self, version: &str) -> Option<&Release> {
        let same = |known: &String| compare(known, version) == Some(Ordering::Equal);
        self.all().iter().find(|row| row.metapackage.as_ref().is_some_and(same))
    }

    /// The oldest driver on which programs of this CUDA major run by minor-version compatibility.
    pub fn major_driver_min(&self, major: u32) -> Option<&str> {
        self.majors().iter().find(|row| row.major == major).map(|row| row.driver_min.as_str())
    }

    /// What is known of a compute capability.
    pub fn architecture(&self, capability: (u32, u32)) -> Option<&Architecture> {
        self.architectures().iter().find(|row| version::minor(&row.compute_capability) == Some(capability))
    }

    /// The driver branches on which the compat package of a toolkit (`12.4`) works; `None` where it is not
    /// known.
    pub fn forward(&self, toolkit: &str) -> Option<&ForwardCompatibility> {
        let wanted = version::minor(toolkit)?;
        self.forward_compatibilities().iter().find(|row| version::minor(&row.toolkit) == Some(wanted))
    }
}

/// A compute capability (`9.0`) as the compiler writes it: `sm_90`.
pub fn sm(capability: &str) -> String {
    format!("sm_{}", capability.replace('.', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Cuda {
        crate::testing::catalog().cuda()
    }

    #[test]
    fn finds_releases_by_full_version_only() {
        assert_eq!(table().release("12.4.1").unwrap().driver_min.as_deref(), Some("550.54.15"));
        assert_eq!(table().release("12.3.2").unwrap().driver_min, None);
        assert!(table().release("12.4.2").is_none());
        assert!(table().release("12.4").is_none());
    }

    #[test]
    fn finds_toolkit_by_pypi_metapackage_version() {
        // torch 2.13 requires cuda-toolkit 13.0.3, which PyPI has as 13.0.3.0.
        assert_eq!(table().of_metapackage("13.0.3").unwrap().toolkit, "13.0.3");
        assert_eq!(table().of_metapackage("13.0.3.0").unwrap().runtime.as_deref(), Some("13.0.96"));
        assert_eq!(table().of_metapackage("12.4.1").unwrap().nvcc.as_deref(), Some("12.4.131"));
        assert!(table().of_metapackage("11.7.1").is_none(), "not on PyPI");
    }

    #[test]
    fn finds_first_toolkit_of_a_minor_version() {
        assert_eq!(table().minor("12.4").unwrap().toolkit, "12.4.0");
        assert_eq!(table().minor("12.4.99").unwrap().toolkit, "12.4.0");
        assert_eq!(table().minor("13.4").unwrap().toolkit, "13.4.1");
        assert!(table().minor("12.7").is_none(), "no such toolkit, though drivers report it");
        assert!(table().minor("12").is_none());
        assert!(table().minor("release").is_none());
    }

    #[test]
    fn reports_minimum_driver_per_cuda_major() {
        assert_eq!(table().major_driver_min(11), Some("450.80.02"));
        assert_eq!(table().major_driver_min(12), Some("525.60.13"));
        assert_eq!(table().major_driver_min(13), Some("580"));
        assert_eq!(table().major_driver_min(14), None);
    }

    #[test]
    fn reports_toolkit_and_driver_limits_per_capability() {
        let volta = table().architecture((7, 0)).unwrap();
        assert_eq!((volta.last_toolkit.as_deref(), volta.last_driver_branch), (Some("12.9"), Some(580)));
        let hopper = table().architecture((9, 0)).unwrap();
        assert_eq!((hopper.architecture.as_str(), &hopper.last_toolkit), ("Hopper", &None));
        assert_eq!(table().architecture((12, 0)).unwrap().first_toolkit.as_deref(), Some("12.8"));
        assert!(table().architecture((9, 9)).is_none());
    }

    #[test]
    fn finds_tegra_chips_by_short_and_full_names() {
        let capability = |name: &str| {
            table().tegra_named(name).map(|architecture| architecture.compute_capability.as_str())
        };
        for name in ["xavier", "jetson-xavier", "Jetson AGX Xavier"] {
            assert_eq!(capability(name), Some("7.2"), "{name}");
        }
        assert_eq!((capability("orin"), capability("jetson agx orin")), (Some("8.7"), Some("8.7")));
        assert_eq!((capability("jetson_agx_thor"), capability("jetson-tx2")), (Some("11.0"), Some("6.2")));
        assert!(capability("jetson").is_none());
    }

    #[test]
    fn reports_forward_compatible_driver_branches() {
        assert_eq!(table().forward("12.4").unwrap().driver_branches, [470, 525, 535]);
        assert_eq!(table().forward("12.4.1").unwrap().toolkit, "12.4");
        assert_eq!(table().forward("12.1").unwrap().geforce_branches, [470, 525]);
        for row in table().forward_compatibilities() {
            assert!(row.geforce_branches.iter().all(|one| row.driver_branches.contains(one)), "{row:?}");
        }
        assert!(!table().forward("13.2").unwrap().driver_branches.contains(&575));
        assert!(table().forward("13.3").is_none(), "not known is not an empty list");
    }
}
