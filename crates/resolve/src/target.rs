//! What a torch build was made for: one CUDA release, or the CPU alone.

use pep440_rs::Version;

use catalog::Catalog;
use catalog::driver_support::DriverSupport;
use catalog::version::minor;
use facts::driver::DriverVersion;

/// What a torch build was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// NVIDIA GPUs, with the libraries of a CUDA release.
    Cuda(Cuda),
    /// The CPU: there is no CUDA, NCCL or cuDNN in it, and it uses neither GPU nor driver.
    Cpu,
}

/// The CUDA release that a torch build was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuda {
    /// `12.1`.
    pub version: Version,
    /// The same as numbers.
    pub minor: (u32, u32),
    /// Its toolkits: `12.1.0`, `12.1.1`.
    pub toolkits: Vec<Version>,
}

impl Cuda {
    /// The release with this text (`12.1`), if that is a version.
    pub(crate) fn new(catalog: &Catalog, text: &str) -> Option<Cuda> {
        let of = minor(text)?;
        let rows = catalog.cuda().all().iter().filter(|row| minor(&row.toolkit) == Some(of));
        let toolkits = rows.filter_map(|row| row.toolkit.parse().ok()).collect();
        Some(Cuda { version: text.parse().ok()?, minor: of, toolkits })
    }

    /// `12.1`.
    pub fn text(&self) -> String {
        self.version.to_string()
    }

    /// `12`.
    pub fn major(&self) -> u32 {
        self.minor.0
    }

    /// How far a driver runs its programs.
    pub fn driver_support(&self, catalog: &'static Catalog, driver: DriverVersion) -> DriverSupport<'static> {
        catalog.driver_support(&driver.to_string(), driver.branch, self.minor)
    }
}
