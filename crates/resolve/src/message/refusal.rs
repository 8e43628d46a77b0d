//! Why a candidate cannot be chosen.

use diagnostic::words::{and, span};

use super::forward::forward_text;
use super::{Clause, Names, Phrase, Subject, Verb};
use crate::verdict::{Capability, Party, Refusal, Wheels};

const HAS: Verb = ("has", "have");
const IS: Verb = ("is", "are");
const NEEDS: Verb = ("needs", "need");
const REQUIRES: Verb = ("requires", "require");

/// `sm_90`.
pub(super) fn sm((major, minor): Capability) -> String {
    format!("sm_{major}{minor}")
}

fn build(verb: Verb, text: String) -> Clause {
    Clause::of(Subject::Build, verb, text)
}

fn release(verb: Verb, text: String) -> Clause {
    Clause::of(Subject::Release, verb, text)
}

impl Refusal {
    pub(crate) fn clause(&self, names: &Names) -> Clause {
        self.of_build(names)
            .or_else(|| self.of_python(names))
            .or_else(|| self.of_base(names))
            .or_else(|| self.of_compiler(names))
            .or_else(|| self.of_package(names))
            .unwrap_or_else(|| Clause::whole(format!("{self:?}")))
    }

    fn of_build(&self, names: &Names) -> Option<Clause> {
        let cuda = &names.cuda.text;
        Some(match self {
            Refusal::TorchRequested { requirement } => {
                Clause::whole(format!("torch {requirement} was requested"))
            }
            Refusal::CudaRequested { requirement } => {
                build(("was", "were"), format!("built for CUDA {cuda}; CUDA {requirement} was requested"))
            }
            Refusal::DriverOlderThanGpu { driver, gpu, branch } => Clause::whole(format!(
                "driver {driver} does not support the {gpu}, which needs driver branch {branch} or newer"
            )),
            Refusal::GpuOfOtherProcessor { gpu, processor, other } => Clause::whole(format!(
                "the {gpu} is only in machines with an {processor} processor, not {other}"
            )),
            Refusal::GpuDroppedByDriver { driver, gpu, last_branch, architecture } => Clause::whole(format!(
                "driver {driver} does not support the {gpu}: {last_branch} is the last driver branch with \
                 {architecture} support"
            )),
            Refusal::NoKernels { gpu, capability, has } => kernels(gpu, *capability, has),
            Refusal::DriverTooOld { needs, has, forward } => {
                let major = names.cuda_major;
                let verb = names.cuda.verb(NEEDS);
                Clause::whole(format!(
                    "CUDA {cuda} {verb} driver {needs} or newer (minor-version compatibility of CUDA \
                        {major}), not \
                     {has}; {}",
                    forward_text(forward)
                ))
            }
            Refusal::PtxOnly { gpu, driver } => build(
                HAS,
                format!(
                    "PTX but no kernels for the {gpu}, and driver {driver} is older than CUDA {cuda} and \
                        cannot \
                     compile that PTX"
                ),
            ),
            Refusal::PartnerMismatch { partner, needs, requirement } => {
                build(NEEDS, format!("{partner} {needs}; {partner} {requirement} was requested"))
            }
            Refusal::NcclForOtherCuda { package } => {
                build(NEEDS, format!("NCCL for CUDA {}, not {package}", names.cuda_major))
            }
            Refusal::NoSuchNccl { requirement } => {
                Clause::whole(format!("the catalog has no NCCL {requirement}"))
            }
            Refusal::TorchaudioEnded { last } => Clause::whole(format!(
                "the last torchaudio release is {last}, which has no build for CUDA {cuda} of {}",
                names.build.text
            )),
            Refusal::TritonMismatch { needs, requirement } => {
                build(REQUIRES, format!("triton {needs}; triton {requirement} was requested"))
            }
            _ => return None,
        })
    }

    fn of_python(&self, names: &Names) -> Option<Clause> {
        let python = &names.python;
        Some(match self {
            Refusal::PythonRequested { requirement } => {
                Clause::whole(format!("Python {requirement} was requested"))
            }
            Refusal::NoTorchWheel { has } => wheels(&[python.as_str()], &range(has)),
            Refusal::TorchOfImageForPython { has } => {
                build(IS, format!("in an image with Python {}, not {python}", has.concat()))
            }
            Refusal::NoTorchWheelForArchitecture { architecture } => {
                build(HAS, format!("no wheel for {architecture} and Python {python}"))
            }
            Refusal::NoTorchForArchitecture { architecture } => {
                build(HAS, format!("no wheel for {architecture}"))
            }
            Refusal::NoPartnerWheel { partner, version } => {
                Clause::whole(format!("{partner} {version} has no wheel for Python {python}"))
            }
            Refusal::PartnerExcludesPython { partner, version, requirements, requires_python } => {
                Clause::whole(format!(
                    "{partner} {version} does not support Python {} (Requires-Python {requires_python})",
                    and(requirements)
                ))
            }
            _ => return None,
        })
    }

    fn of_base(&self, names: &Names) -> Option<Clause> {
        let base = &names.base.text;
        let (torch, cuda) = (&names.build, &names.cuda.text);
        let text = match self {
            Refusal::SystemRequested { requirement } => format!("{requirement} was requested"),
            Refusal::BaseRequested => "another base image was requested".to_owned(),
            Refusal::BaseCudaRequested { has, requirement } => {
                format!("{base} has CUDA {has}; CUDA {requirement} was requested")
            }
            Refusal::BaseCudaMismatch { has } => {
                let was = torch.verb(("was", "were"));
                format!("{base} has CUDA {has}, but {} {was} built for CUDA {cuda}", torch.text)
            }
            Refusal::BaseArchitecture { has } => format!("{base} exists only for {}", and(has)),
            Refusal::TorchOfOtherImage { image } => format!("{} is in {image}, not in {base}", torch.text),
            Refusal::TorchOfNvidia => format!(
                "{base} contains NVIDIA's own build of torch, which is not a PyTorch release and must not be \
                 replaced"
            ),
            Refusal::TorchOfImage { has } => {
                format!("{base} contains torch {has}, not {}", names.torch.text)
            }
            Refusal::TorchOfImageForCuda { has } => {
                format!("the torch in {base} was built for CUDA {has}, not {cuda}")
            }
            Refusal::GlibcTooOld { system, has, needs, by } => {
                let of = match by {
                    Wheels::Torch => &names.build.text,
                    Wheels::Package => &names.release.text,
                };
                format!("{system} has glibc {}.{}, but the wheels of {of} need glibc {needs}", has.0, has.1)
            }
            Refusal::PythonOfImage { has, python } => format!("{base} contains Python {has}, not {python}"),
            Refusal::PythonOfImageUnknown => {
                format!("the Python that {base} contains torch for is unknown")
            }
            Refusal::PythonNotAvailable { system, python } => format!(
                "Python {python} is not available for {system}: not in its packages, in deadsnakes or from uv"
            ),
            _ => return None,
        };
        Some(Clause::whole(text))
    }

    fn of_compiler(&self, names: &Names) -> Option<Clause> {
        let text = match self {
            Refusal::NoNvcc => {
                format!("{} has no nvcc, which compiling CUDA code requires", names.base.text)
            }
            Refusal::NvccTooOldForGpu { nvcc, gpu, capability, first } => format!(
                "nvcc of CUDA {nvcc} cannot compile for {} ({gpu}): CUDA {}.{} is the first that can",
                sm(*capability),
                first.0,
                first.1
            ),
            Refusal::NvccTooNewForGpu { nvcc, gpu, capability, last } => format!(
                "nvcc of CUDA {nvcc} no longer compiles for {} ({gpu}): CUDA {}.{} is the last that does",
                sm(*capability),
                last.0,
                last.1
            ),
            Refusal::GccTooNew { system, gcc, nvcc, newest } => {
                format!("{system} has gcc {gcc}; nvcc of CUDA {nvcc} supports gcc up to {newest}")
            }
            Refusal::GccTooOld { system, gcc, nvcc, oldest } => {
                format!("{system} has gcc {gcc}; nvcc of CUDA {nvcc} needs gcc {oldest} or newer")
            }
            _ => return None,
        };
        Some(Clause::whole(text))
    }

    fn of_package(&self, names: &Names) -> Option<Clause> {
        Some(match self {
            Refusal::PackageRequested { package, requirement } => {
                Clause::whole(format!("{package} {requirement} was requested"))
            }
            Refusal::NotCompiled => {
                release(HAS, "no wheel, and envdoc compiles packages only with --compile".to_owned())
            }
            Refusal::ExcludesPython { requires_python } => {
                release(REQUIRES, format!("Python {requires_python}"))
            }
            Refusal::NoWheelForPython { python } => release(HAS, format!("no wheel for Python {python}")),
            Refusal::NoWheelForArchitecture { architecture } => {
                release(HAS, format!("no wheel for {architecture}"))
            }
            Refusal::NoFlashAttnForArchitecture { architecture } => {
                release(HAS, format!("no wheel for {architecture}; --compile builds it from source"))
            }
            Refusal::NoFlashAttnWheel { series, cuda_major, python } => {
                let on = python.as_ref().map_or(String::new(), |python| format!(" on Python {python}"));
                let text = format!("no wheel for torch {series} with CUDA {cuda_major}{on}");
                release(HAS, format!("{text}; --compile builds it from source"))
            }
            Refusal::Incompatible { package, with, effect } => incompatible(names, package, with, effect),
            Refusal::Requires { by, package, versions } => {
                of_party(names, by, REQUIRES, format!("{package} {versions}"))
            }
            Refusal::TritonRequired { versions } => Clause::whole(format!(
                "{} {} triton {versions}",
                names.build.text,
                names.build.verb(REQUIRES)
            )),
            Refusal::NvccDiffers { nvcc, check_can_be_skipped } => {
                let skip = match check_can_be_skipped {
                    true => "; DS_SKIP_CUDA_CHECK=1 skips the check but does not make them match",
                    false => "",
                };
                let text = format!(
                    "compile operators with nvcc {nvcc} next to torch for CUDA {}: both versions must be \
                        equal or \
                     in DeepSpeed's list{skip}",
                    names.cuda.text
                );
                release(("cannot", "cannot"), text)
            }
            _ => return None,
        })
    }
}

fn kernels(gpu: &str, capability: Capability, has: &[Capability]) -> Clause {
    let list: Vec<String> = has.iter().map(|one| sm(*one)).collect();
    let detail = if list.is_empty() { String::new() } else { format!(", only for {}", list.join(", ")) };
    build(HAS, no_kernels(gpu, capability)).with_detail(detail)
}

fn no_kernels(gpu: &str, capability: Capability) -> String {
    format!("no {}", kernels_for(gpu, capability))
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

fn incompatible(names: &Names, package: &Party, with: &Party, effect: &str) -> Clause {
    let text = format!("not work with {}: {effect}", names.party(with).text);
    of_party(names, package, ("does", "do"), text)
}

fn of_party(names: &Names, party: &Party, verb: Verb, text: String) -> Clause {
    match party {
        Party::Candidate => release(verb, text),
        other => {
            let Phrase { text: name, several } = names.party(other);
            Clause::whole(format!("{name} {} {text}", if several { verb.1 } else { verb.0 }))
        }
    }
}
