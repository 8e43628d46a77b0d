//! Why a candidate cannot be chosen.

use diagnostic::words::{and, span};

use super::forward::forward_text;
use super::{Clause, Names, Subject, Verb};
use crate::verdict::{
    BaseRefusal, BuildRefusal, Capability, CompilerRefusal, PythonRefusal, Refusal, Wheels,
};

pub(super) const HAS: Verb = ("has", "have");
pub(super) const IS: Verb = ("is", "are");
const NEEDS: Verb = ("needs", "need");
pub(super) const REQUIRES: Verb = ("requires", "require");

/// `sm_90`.
pub(super) fn sm((major, minor): Capability) -> String {
    format!("sm_{major}{minor}")
}

fn build(verb: Verb, text: String) -> Clause {
    Clause::of(Subject::Build, verb, text)
}

impl Refusal {
    pub(crate) fn clause(&self, names: &Names) -> Clause {
        match self {
            Refusal::Build(refusal) => refusal.clause(names),
            Refusal::Python(refusal) => refusal.clause(names),
            Refusal::Base(refusal) => refusal.clause(names),
            Refusal::Compiler(refusal) => refusal.clause(names),
            Refusal::Package(refusal) => refusal.clause(names),
        }
    }
}

impl BuildRefusal {
    fn clause(&self, names: &Names) -> Clause {
        let cuda = &names.cuda.text;
        match self {
            BuildRefusal::TorchRequested { requirement } => {
                Clause::whole(format!("torch {requirement} was requested"))
            }
            BuildRefusal::CudaRequested { requirement } => {
                build(("was", "were"), format!("built for CUDA {cuda}; CUDA {requirement} was requested"))
            }
            BuildRefusal::CudaRequestedOfCpuBuild { requirement } => {
                Clause::whole(format!("a CPU build has no CUDA; CUDA {requirement} was requested"))
            }
            BuildRefusal::CpuRequested => {
                build(("was", "were"), format!("built for CUDA {cuda}; a CPU build was requested"))
            }
            BuildRefusal::GpuOfCpuBuild { gpu } => {
                Clause::whole(format!("a CPU build of torch does not use the {gpu}"))
            }
            BuildRefusal::DriverOfCpuBuild { driver } => Clause::whole(format!(
                "a CPU build of torch uses no NVIDIA driver, and driver {driver} was requested"
            )),
            BuildRefusal::CompileOfCpuBuild => Clause::whole(
                "compiling CUDA code requires a torch that was built for CUDA, not a CPU build".to_owned(),
            ),
            BuildRefusal::NcclOfCpuBuild => {
                Clause::whole("a CPU build of torch has no NCCL, and NCCL was requested".to_owned())
            }
            BuildRefusal::DriverOlderThanGpu { driver, gpu, branch } => Clause::whole(format!(
                "driver {driver} does not support the {gpu}, which needs driver branch {branch} or newer"
            )),
            BuildRefusal::NoCommonDriver { newer, first, older, last } => Clause::whole(format!(
                "no driver supports both the {newer} (branch {first} or newer) and the {older} (branch \
                 {last} or older)"
            )),
            BuildRefusal::GpuOfOtherProcessor { gpu, processor, other } => Clause::whole(format!(
                "the {gpu} is only in machines with an {processor} processor, not {other}"
            )),
            BuildRefusal::GpuDroppedByDriver { driver, gpu, last_branch, architecture } => {
                Clause::whole(format!(
                    "driver {driver} does not support the {gpu}: {last_branch} is the last driver branch \
                     with {architecture} support"
                ))
            }
            BuildRefusal::NoKernels { gpu, capability, has } => kernels(gpu, *capability, has),
            BuildRefusal::DriverTooOld { needs, has, forward } => {
                let major = names.cuda_major;
                let verb = names.cuda.verb(NEEDS);
                Clause::whole(format!(
                    "CUDA {cuda} {verb} driver {needs} or newer (minor-version compatibility of CUDA \
                     {major}), not {has}; {}",
                    forward_text(forward)
                ))
            }
            BuildRefusal::PtxOnly { gpu, driver } => build(
                HAS,
                format!(
                    "PTX but no kernels for the {gpu}, and driver {driver} is older than CUDA {cuda} \
                     and cannot compile that PTX"
                ),
            ),
            BuildRefusal::PartnerMismatch { partner, needs, requirement } => {
                build(NEEDS, format!("{partner} {needs}; {partner} {requirement} was requested"))
            }
            BuildRefusal::NcclForOtherCuda { package } => {
                build(NEEDS, format!("NCCL for CUDA {}, not {package}", names.cuda_major))
            }
            BuildRefusal::NoSuchNccl { requirement } => {
                Clause::whole(format!("the catalog has no NCCL {requirement}"))
            }
            BuildRefusal::TorchaudioEnded { last } => Clause::whole(format!(
                "the last torchaudio release is {last}, which has no build for CUDA {cuda} of {}",
                names.build.text
            )),
            BuildRefusal::TritonMismatch { needs, requirement } => {
                build(REQUIRES, format!("triton {needs}; triton {requirement} was requested"))
            }
        }
    }
}

impl PythonRefusal {
    fn clause(&self, names: &Names) -> Clause {
        let python = &names.python;
        match self {
            PythonRefusal::PythonRequested { requirement } => {
                Clause::whole(format!("Python {requirement} was requested"))
            }
            PythonRefusal::NoTorchWheel { has } => wheels(&[python.as_str()], &range(has)),
            PythonRefusal::TorchOfImageForPython { has } => {
                build(IS, format!("in an image with Python {}, not {python}", has.concat()))
            }
            PythonRefusal::NoTorchWheelForArchitecture { architecture } => {
                build(HAS, format!("no wheel for {architecture} and Python {python}"))
            }
            PythonRefusal::NoTorchForArchitecture { architecture } => {
                build(HAS, format!("no wheel for {architecture}"))
            }
            PythonRefusal::NoPartnerWheel { partner, version } => {
                Clause::whole(format!("{partner} {version} has no wheel for Python {python}"))
            }
            PythonRefusal::PartnerExcludesPython { partner, version, requirements, requires_python } => {
                Clause::whole(format!(
                    "{partner} {version} does not support Python {} (Requires-Python {requires_python})",
                    and(requirements)
                ))
            }
        }
    }
}

impl BaseRefusal {
    fn clause(&self, names: &Names) -> Clause {
        let base = &names.base.text;
        let (torch, cuda) = (&names.build, &names.cuda.text);
        let text = match self {
            BaseRefusal::SystemRequested { requirement } => format!("{requirement} was requested"),
            BaseRefusal::BaseRequested => "another base image was requested".to_owned(),
            BaseRefusal::BaseCudaRequested { has, requirement } => {
                format!("{base} has CUDA {has}; CUDA {requirement} was requested")
            }
            BaseRefusal::BaseCudaMismatch { has } => {
                let was = torch.verb(("was", "were"));
                format!("{base} has CUDA {has}, but {} {was} built for CUDA {cuda}", torch.text)
            }
            BaseRefusal::BaseArchitecture { has } => format!("{base} exists only for {}", and(has)),
            BaseRefusal::TorchOfOtherImage { image } => {
                format!("{} is in {image}, not in {base}", torch.text)
            }
            BaseRefusal::TorchOfNvidia => format!(
                "{base} contains NVIDIA's own build of torch, which is not a PyTorch release and must not be \
                 replaced"
            ),
            BaseRefusal::TorchOfImage { has } => {
                format!("{base} contains torch {has}, not {}", names.torch.text)
            }
            BaseRefusal::TorchOfImageForCuda { has } => {
                format!("the torch in {base} was built for CUDA {has}, not {cuda}")
            }
            BaseRefusal::CudaTorchOfImage { has } => {
                format!("the torch in {base} was built for CUDA {has}; a CPU build was requested")
            }
            BaseRefusal::GlibcTooOld { system, has, needs, by } => {
                let of = match by {
                    Wheels::Torch => &names.build.text,
                    Wheels::Package => &names.release.text,
                };
                format!("{system} has glibc {}.{}, but the wheels of {of} need glibc {needs}", has.0, has.1)
            }
            BaseRefusal::PythonOfImage { has, python } => {
                format!("{base} contains Python {has}, not {python}")
            }
            BaseRefusal::PythonOfImageUnknown => {
                format!("the Python that {base} contains torch for is unknown")
            }
            BaseRefusal::PythonNotAvailable { system, python } => format!(
                "Python {python} is not available for {system}: not in its packages, in deadsnakes or from uv"
            ),
        };
        Clause::whole(text)
    }
}

impl CompilerRefusal {
    fn clause(&self, names: &Names) -> Clause {
        let text = match self {
            CompilerRefusal::NoNvcc => {
                format!("{} has no nvcc, which compiling CUDA code requires", names.base.text)
            }
            CompilerRefusal::NvccTooOldForGpu { nvcc, gpu, capability, first } => format!(
                "nvcc of CUDA {nvcc} cannot compile for {} ({gpu}): CUDA {}.{} is the first that can",
                sm(*capability),
                first.0,
                first.1
            ),
            CompilerRefusal::NvccTooNewForGpu { nvcc, gpu, capability, last } => format!(
                "nvcc of CUDA {nvcc} no longer compiles for {} ({gpu}): CUDA {}.{} is the last that does",
                sm(*capability),
                last.0,
                last.1
            ),
            CompilerRefusal::GccTooNew { system, gcc, nvcc, newest } => {
                format!("{system} has gcc {gcc}; nvcc of CUDA {nvcc} supports gcc up to {newest}")
            }
            CompilerRefusal::GccTooOld { system, gcc, nvcc, oldest } => {
                format!("{system} has gcc {gcc}; nvcc of CUDA {nvcc} needs gcc {oldest} or newer")
            }
        };
        Clause::whole(text)
    }
}

fn kernels(gpu: &str, capability: Capability, has: &[Capability]) -> Clause {
    let list: Vec<String> = has.iter().map(|one| sm(*one)).collect();
    let detail = if list.is_empty() { String::new() } else { format!(", only for {}", list.join(", ")) };
    build(HAS, format!("no {}", kernels_for(gpu, capability))).with_detail(detail)
}

/// `kernels for the B200 (sm_100)`.
pub(crate) fn kernels_for(gpu: &str, capability: Capability) -> String {
    format!("kernels for the {gpu} ({})", sm(capability))
}

/// `no wheel for Python 3.14, only for 3.9 to 3.13`; `has` is empty where that is not known.
pub(crate) fn wheels(pythons: &[&str], has: &str) -> Clause {
    let detail = if has.is_empty() { String::new() } else { format!(", only for {has}") };
    build(HAS, format!("no wheel for Python {}", and(pythons))).with_detail(detail)
}

/// The Pythons of a list without the free-threaded ones (`3.13t`).
fn range(pythons: &[String]) -> String {
    let plain: Vec<&str> = pythons.iter().map(String::as_str).filter(|one| !one.ends_with('t')).collect();
    if pythons.is_empty() { String::new() } else { span(&plain) }
}
