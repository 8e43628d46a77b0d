//! The verdict of a constraint on a candidate, as values. [`super::message`] forms the sentences from them.
//!
//! A variant holds what differs between candidates that are refused alike; the names of the candidate itself (torch build,
//! Python, base image, package) come from [`Candidate`], so that a message can name several at once.

use facts::driver::DriverVersion;
use pep440_rs::{Version, VersionSpecifiers};

use super::constraint::Tolerance;
use super::world::{Base, Build, Python, Release};

/// Major and minor number of a compute capability: `(9, 0)`.
pub type Capability = (u32, u32);

/// What a constraint finds for a candidate, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing to report.
    Holds,
    /// It holds, and there is something to do or to know.
    Notes(Note),
    /// It holds at a price: chosen only where no candidate holds without it.
    Costs(Cost),
    /// The catalog does not tell: chosen only where nothing else is left, with a warning.
    Unknown(Gap),
    /// It does not hold.
    Fails(Refusal),
}

impl Judgement {
    /// Fails with this reason unless it holds.
    pub fn unless(holds: bool, refusal: impl FnOnce() -> Refusal) -> Judgement {
        if holds { Judgement::Holds } else { Judgement::Fails(refusal()) }
    }

    /// Both must hold: the worse of the two, the first of two as bad.
    pub fn and(self, other: Judgement) -> Judgement {
        if other.rank() > self.rank() { other } else { self }
    }

    /// One of them is enough: the better of the two, the first of two as good.
    pub fn or(self, other: Judgement) -> Judgement {
        if other.rank() < self.rank() { other } else { self }
    }

    fn rank(&self) -> u8 {
        match self {
            Judgement::Holds => 0,
            Judgement::Notes(_) => 1,
            Judgement::Costs(_) => 2,
            Judgement::Unknown(_) => 3,
            Judgement::Fails(_) => 4,
        }
    }

    /// What speaks against the candidate, where the tolerance does not allow it.
    pub fn objection(self, tolerance: Tolerance) -> Option<Objection> {
        if tolerance.allows(&self) {
            return None;
        }
        match self {
            Judgement::Holds | Judgement::Notes(_) => None,
            Judgement::Costs(cost) => Some(Objection::Cost(cost)),
            Judgement::Unknown(gap) => Some(Objection::Gap(gap)),
            Judgement::Fails(refusal) => Some(Objection::Refusal(refusal)),
        }
    }
}

/// What speaks against a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    Cost(Cost),
    Gap(Gap),
    Refusal(Refusal),
}

/// The parts that a constraint looked at; those that it did not look at are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'w> {
    pub build: Option<&'w Build>,
    pub python: Option<&'w Python>,
    pub base: Option<&'w Base>,
    pub release: Option<&'w Release>,
}

/// Why a candidate was not chosen.
#[derive(Debug, Clone)]
pub struct Reason<'w> {
    /// Id of the constraint.
    pub constraint: &'static str,
    pub objection: Objection,
    pub candidate: Candidate<'w>,
}

/// One side of a requirement or an incompatibility.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party {
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
pub enum Forward {
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
pub enum Refusal {
    // torch builds
    TorchRequested {
        wish: String,
    },
    CudaRequested {
        wish: String,
    },
    DriverOlderThanGpu {
        driver: DriverVersion,
        gpu: String,
        branch: u32,
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
        partner: &'static str,
        needs: Version,
        wish: String,
    },
    NcclForOtherCuda {
        package: String,
    },
    NoSuchNccl {
        wish: String,
    },
    TorchaudioEnded {
        last: String,
    },
    TritonMismatch {
        needs: VersionSpecifiers,
        wish: String,
    },
    // Pythons
    PythonRequested {
        wish: String,
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
        partner: &'static str,
        version: Version,
    },
    PartnerExcludesPython {
        partner: &'static str,
        version: Version,
        wishes: Vec<String>,
        requires_python: VersionSpecifiers,
    },
    // Base images
    SystemRequested {
        wish: String,
    },
    BaseRequested,
    BaseCudaRequested {
        has: Version,
        wish: String,
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
    NoNvcc,
    NvccTooOldForGpu {
        nvcc: &'static str,
        gpu: String,
        capability: Capability,
        first: (u32, u32),
    },
    NvccTooNewForGpu {
        nvcc: &'static str,
        gpu: String,
        capability: Capability,
        last: (u32, u32),
    },
    GccTooNew {
        system: String,
        gcc: String,
        nvcc: String,
        newest: String,
    },
    GccTooOld {
        system: String,
        gcc: String,
        nvcc: String,
        oldest: String,
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
    // Packages
    PackageRequested {
        package: &'static str,
        wish: String,
    },
    NotCompiled,
    ExcludesPython {
        requires_python: VersionSpecifiers,
    },
    NoWheelForPython {
        python: String,
    },
    NoWheelForArchitecture {
        architecture: String,
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
    Requires {
        by: Party,
        package: &'static str,
        versions: VersionSpecifiers,
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
pub enum Wheels {
    Torch,
    Package,
}

impl Refusal {
    /// Whether the candidate only differs from what the request names.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Refusal::TorchRequested { .. }
                | Refusal::CudaRequested { .. }
                | Refusal::PythonRequested { .. }
                | Refusal::SystemRequested { .. }
                | Refusal::BaseRequested
                | Refusal::BaseCudaRequested { .. }
                | Refusal::PackageRequested { .. }
        )
    }

    /// Without the details in which candidates that are refused alike differ.
    #[must_use]
    pub fn without_details(&self) -> Refusal {
        let mut general = self.clone();
        match &mut general {
            Refusal::NoKernels { has, .. } => has.clear(),
            Refusal::NoTorchWheel { has } => has.clear(),
            Refusal::DriverTooOld { forward: Forward::Branches(branches), .. } => branches.clear(),
            _ => {}
        }
        general
    }

    /// The parts of a stack other than the judged package that it is about, by name.
    pub fn other_parts(&self) -> Vec<&str> {
        let name = |party: &Party| match party {
            Party::Package { name, .. } => Some(*name),
            Party::Torch => Some("torch"),
            Party::Candidate | Party::Cuda => None,
        };
        match self {
            Refusal::Incompatible { package, with, .. } => {
                [package, with].into_iter().filter_map(name).collect()
            }
            Refusal::Requires { by, package, .. } => name(by).into_iter().chain([*package]).collect(),
            Refusal::TritonRequired { .. }
            | Refusal::NoFlashAttnWheel { .. }
            | Refusal::NvccDiffers { .. } => vec!["torch"],
            _ => Vec::new(),
        }
    }
}

/// What the catalog does not tell of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    // torch builds
    GpuOnDriver { driver: DriverVersion, gpu: String, branch: u32 },
    DriverOfCuda,
    DriverOfNode { driver: DriverVersion, gpu: String },
    ForwardDrivers { needs: &'static str, driver: DriverVersion },
    ForwardGpu { needs: &'static str, driver: DriverVersion, gpu: String },
    Kernels,
    KernelsOfGpu { gpu: String, capability: Capability },
    Partner { partner: &'static str },
    // Pythons
    PythonsOfTorch,
    PartnerWheel { partner: &'static str, version: Version },
    TorchArchitecture { architecture: String },
    // Base images
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
    // Packages
    FlashAttnWheels,
    FlashAttnAbi,
    FlashAttnNightly { series: &'static str },
    PackageArchitecture { architecture: String },
    CompilesWithTorch,
    NvccDifference,
}

/// What a candidate costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cost {
    ForwardCompatibility {
        driver: DriverVersion,
    },
    BaseCudaMinor {
        has: Version,
        nvcc: bool,
    },
    NoNvcc,
    /// DeepSpeed runs, but cannot compile its operators.
    Compilation(Box<Refusal>),
    DriverOfImage {
        needs: DriverVersion,
        driver: DriverVersion,
    },
    RequireCuda {
        driver: DriverVersion,
        driver_cuda: &'static str,
        requires: &'static str,
    },
}

/// What there is to know about a candidate that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// torchvision or torchaudio is left out for this reason.
    LeftOut(Box<Refusal>),
    Start(Cost),
    StartUnknown(Gap),
}
