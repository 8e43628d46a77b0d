//! What is missing in the catalog.

use facts::driver::DriverVersion;
use pep440_rs::Version;

use super::{Capability, Partner};

/// A fact about a candidate that is missing in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gap {
    Build(BuildGap),
    Base(BaseGap),
    Package(PackageGap),
}

/// A missing fact about the torch build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BuildGap {
    DriverOfCuda,
    DriverOfNode {
        driver: DriverVersion,
        gpu: String,
    },
    ForwardDrivers {
        needs: &'static str,
        driver: DriverVersion,
    },
    ForwardGpu {
        needs: &'static str,
        driver: DriverVersion,
        gpu: String,
    },
    /// `lacking`: a GPU for which no build of that CUDA whose list is known has kernels.
    Kernels {
        lacking: Option<String>,
    },
    KernelsOfGpu {
        gpu: String,
        capability: Capability,
    },
    Partner {
        partner: Partner,
    },
    PythonsOfTorch,
    PartnerWheel {
        partner: Partner,
        version: Version,
    },
    TorchArchitecture {
        architecture: String,
    },
}

/// A missing fact about the base image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseGap {
    BaseArchitecture { architecture: String },
    TorchOfImage,
    CudaOfImageTorch,
    Nvcc,
    Toolkit,
    ToolkitsOfGpu { capability: Capability },
    Compiler,
    Gcc { system: String },
    GccOfNvcc { nvcc: String },
    GlibcOfTorch,
    GlibcOfBase,
    GlibcOfSystem { system: String },
    PythonOfImage,
    PythonOfBase,
    PythonSource { system: String },
    DriverOfImage { driver: DriverVersion },
    CudaOfDriver { driver: DriverVersion },
    DriversOfImage { cuda: &'static str },
    BrandsOfImage { driver: DriverVersion, driver_cuda: &'static str, requires: &'static str },
}

/// A missing fact about a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PackageGap {
    TritonNotRequired,
    GlibcOfPackage,
    CudaOfPackage,
    /// Whether it works with a CPU build of torch.
    WithoutCuda,
    FlashAttnWheels,
    FlashAttnAbi,
    FlashAttnNightly {
        series: &'static str,
    },
    PackageArchitecture {
        architecture: String,
    },
    CompilesWithTorch,
    /// Whether something that it requires, and that has no wheel, builds from source.
    RequirementBuilds {
        lacking: &'static str,
    },
    NvccDifference,
}
