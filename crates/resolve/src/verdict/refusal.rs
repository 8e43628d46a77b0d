//! Why a candidate cannot be chosen.

use facts::driver::DriverVersion;
use pep440_rs::{Version, VersionSpecifiers};

use super::{Capability, Partner};

/// One side of a requirement or an incompatibility.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Party {
    /// The package release that is judged.
    Candidate,
    /// The torch of the candidate's build.
    Torch,
    /// The CUDA of the candidate's build.
    Cuda,
    /// Another package of the stack.
    Package { name: &'static str, version: String },
}

/// Why the cuda-compat package does not help an older driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forward {
    /// It is for data-centre GPUs, and the request names no GPU.
    NoGpuNamed,
    /// It would work on data-centre GPUs; the request names no GPU.
    OnDataCentreGpus,
    /// This GPU is none of the data centre.
    NotDataCentre(String),
    /// It is for these driver branches only.
    Branches(Vec<u32>),
    /// It is for other drivers; so are those of several CUDA releases where `several`.
    OtherDrivers { several: bool },
}

/// Why a candidate cannot be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Build(BuildRefusal),
    Python(PythonRefusal),
    Base(BaseRefusal),
    Compiler(CompilerRefusal),
    Package(PackageRefusal),
}

/// Why a candidate cannot be chosen: the torch build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BuildRefusal {
    TorchRequested {
        requirement: String,
    },
    CudaRequested {
        requirement: String,
    },
    CudaRequestedOfCpuBuild {
        requirement: String,
    },
    CpuRequested,
    GpuOfCpuBuild {
        gpu: String,
    },
    DriverOfCpuBuild {
        driver: DriverVersion,
    },
    /// CUDA code is to be compiled.
    CompileOfCpuBuild,
    NcclOfCpuBuild,
    DriverOlderThanGpu {
        driver: DriverVersion,
        gpu: String,
        branch: u32,
    },
    GpuOfOtherProcessor {
        gpu: String,
        processor: String,
        other: String,
    },
    /// `first` is the oldest branch of the newer GPU, `last` the last of the older one.
    NoCommonDriver {
        newer: String,
        first: u32,
        older: String,
        last: u32,
    },
    GpuDroppedByDriver {
        driver: DriverVersion,
        gpu: String,
        last_branch: u32,
        architecture: String,
    },
    NoKernels {
        gpu: String,
        capability: Capability,
        has: Vec<Capability>,
    },
    DriverTooOld {
        needs: &'static str,
        has: DriverVersion,
        forward: Forward,
    },
    PtxOnly {
        gpu: String,
        driver: DriverVersion,
    },
    PartnerMismatch {
        partner: Partner,
        needs: Version,
        requirement: String,
    },
    NcclForOtherCuda {
        package: String,
    },
    NoSuchNccl {
        requirement: String,
    },
    TorchaudioEnded {
        last: String,
    },
    TritonMismatch {
        needs: VersionSpecifiers,
        requirement: String,
    },
}

/// Why a candidate cannot be chosen: the Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PythonRefusal {
    PythonRequested {
        requirement: String,
    },
    /// The Pythons for which there are wheels; empty where they are not known.
    NoTorchWheel {
        has: Vec<String>,
    },
    TorchOfImageForPython {
        has: Vec<String>,
    },
    NoTorchWheelForArchitecture {
        architecture: String,
    },
    NoTorchForArchitecture {
        architecture: String,
    },
    NoPartnerWheel {
        partner: Partner,
        version: Version,
    },
    PartnerExcludesPython {
        partner: Partner,
        version: Version,
        requirements: Vec<String>,
        requires_python: VersionSpecifiers,
    },
}

/// Why a candidate cannot be chosen: the base image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseRefusal {
    SystemRequested {
        requirement: String,
    },
    BaseRequested,
    BaseCudaRequested {
        has: Version,
        requirement: String,
    },
    BaseCudaMismatch {
        has: Version,
    },
    BaseArchitecture {
        has: Vec<String>,
    },
    TorchOfOtherImage {
        image: String,
    },
    TorchOfNvidia,
    TorchOfImage {
        has: String,
    },
    TorchOfImageForCuda {
        has: Version,
    },
    /// The torch of the image was built for a CUDA, and a CPU build is required.
    CudaTorchOfImage {
        has: Version,
    },
    GlibcTooOld {
        system: String,
        has: (u32, u32),
        needs: String,
        by: Wheels,
    },
    PythonOfImage {
        has: String,
        python: String,
    },
    PythonOfImageUnknown,
    PythonNotAvailable {
        system: String,
        python: String,
    },
}

/// Why a candidate cannot be chosen: the compilers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompilerRefusal {
    NoNvcc,
    NvccTooOldForGpu { nvcc: &'static str, gpu: String, capability: Capability, first: (u32, u32) },
    NvccTooNewForGpu { nvcc: &'static str, gpu: String, capability: Capability, last: (u32, u32) },
    GccTooNew { system: String, gcc: String, nvcc: String, newest: String },
    GccTooOld { system: String, gcc: String, nvcc: String, oldest: String },
}

/// Why a candidate cannot be chosen: a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PackageRefusal {
    PackageRequested {
        package: &'static str,
        requirement: String,
    },
    NotCompiled,
    NoWheelAndOlderThanTorch {
        released: String,
    },
    ExcludesPython {
        requires_python: VersionSpecifiers,
    },
    NoWheelForPython {
        python: String,
    },
    NoWheelForArchitecture {
        architecture: String,
    },
    /// `lacking`: what has no wheel, if it is not the required package itself.
    RequirementWithoutWheel {
        requires: &'static str,
        lacking: Option<&'static str>,
        /// The Pythons without a wheel; `None`: there is none for any.
        pythons: Option<&'static [String]>,
        /// The processor without a wheel; `None`: there is none for any.
        architecture: Option<&'static str>,
    },
    OtherCuda {
        cuda: u32,
    },
    NeedsCuda,
    /// Other releases of the package need CUDA, and none is known to work without it.
    NotKnownWithoutCuda,
    GpuTooOld {
        gpu: String,
        capability: Capability,
        min: Capability,
    },
    NoFlashAttnForArchitecture {
        architecture: String,
    },
    NoFlashAttnWheel {
        series: &'static str,
        cuda_major: u32,
        python: Option<String>,
    },
    Incompatible {
        package: Party,
        with: Party,
        effect: &'static str,
    },
    /// `through`: a package that is not in the catalog and has the requirement.
    Requires {
        by: Party,
        package: &'static str,
        versions: VersionSpecifiers,
        through: Option<&'static str>,
    },
    TritonRequired {
        versions: VersionSpecifiers,
    },
    NvccDiffers {
        nvcc: &'static str,
        check_can_be_skipped: bool,
    },
}

/// Whose wheels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wheels {
    Torch,
    Package,
}
