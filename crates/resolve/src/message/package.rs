//! Why a package cannot be chosen.

use super::refusal::{HAS, IS, REQUIRES, sm};
use super::{Clause, Names, Phrase, Subject, Verb};
use crate::verdict::{PackageRefusal, Party};
use diagnostic::words;

const NEEDS: Verb = ("needs", "need");

fn release(verb: Verb, text: String) -> Clause {
    Clause::of(Subject::Release, verb, text)
}

impl PackageRefusal {
    pub(super) fn clause(&self, names: &Names) -> Clause {
        match self {
            PackageRefusal::PackageRequested { package, requirement } => {
                Clause::whole(format!("{package} {requirement} was requested"))
            }
            PackageRefusal::NotCompiled => {
                release(HAS, "no wheel, and envdoc compiles packages only with --compile".to_owned())
            }
            PackageRefusal::NoWheelAndOlderThanTorch { released } => {
                release(HAS, format!("no wheel, and {released} is before {} came out", names.torch.text))
            }
            PackageRefusal::ExcludesPython { requires_python } => {
                release(REQUIRES, format!("Python {requires_python}"))
            }
            PackageRefusal::NoWheelForPython { python } => {
                release(HAS, format!("no wheel for Python {python}"))
            }
            PackageRefusal::NoWheelForArchitecture { architecture } => {
                release(HAS, format!("no wheel for {architecture}"))
            }
            PackageRefusal::RequirementWithoutWheel { requires, lacking, pythons, architecture } => {
                let mut place =
                    pythons.map_or(String::new(), |list| format!(" for Python {}", words::and(list)));
                if let Some(architecture) = architecture {
                    let word = if pythons.is_some() { "on" } else { "for" };
                    place = format!("{place} {word} {architecture}");
                }
                let what = lacking
                    .map_or("which has".to_owned(), |lacking| format!("and through it {lacking}, which has"));
                release(REQUIRES, format!("{requires}, {what} no wheel{place}"))
            }
            PackageRefusal::OtherCuda { cuda } => {
                // "it" for the build would read as the package.
                release(NEEDS, format!("CUDA {cuda}; the torch build has CUDA {}", names.cuda_major))
            }
            PackageRefusal::NeedsCuda => release(NEEDS, "CUDA; a CPU build of torch has none".to_owned()),
            PackageRefusal::NotKnownWithoutCuda => {
                release(IS, "not known to work without CUDA, which other releases need".to_owned())
            }
            PackageRefusal::GpuTooOld { gpu, capability, min } => {
                let (min, own) = (sm(*min), sm(*capability));
                release(NEEDS, format!("a GPU of {min} or newer; the {gpu} is {own}"))
            }
            PackageRefusal::NoFlashAttnForArchitecture { architecture } => {
                release(HAS, format!("no wheel for {architecture}; --compile builds it from source"))
            }
            PackageRefusal::NoFlashAttnWheel { series, cuda_major, python } => {
                let on = python.as_ref().map_or(String::new(), |python| format!(" on Python {python}"));
                let text = format!("no wheel for torch {series} with CUDA {cuda_major}{on}");
                release(HAS, format!("{text}; --compile builds it from source"))
            }
            PackageRefusal::Incompatible { package, with, effect } => {
                incompatible(names, package, with, effect)
            }
            PackageRefusal::Requires { by, package, versions, through } => {
                let through = through.map_or(String::new(), |other| format!(" through {other}"));
                of_party(names, by, REQUIRES, format!("{package} {versions}{through}"))
            }
            PackageRefusal::TritonRequired { versions } => Clause::whole(format!(
                "{} {} triton {versions}",
                names.build.text,
                names.build.verb(REQUIRES)
            )),
            PackageRefusal::NvccDiffers { nvcc, check_can_be_skipped } => {
                let skip = match check_can_be_skipped {
                    true => "; DS_SKIP_CUDA_CHECK=1 skips the check but does not make them match",
                    false => "",
                };
                let text = format!(
                    "compile operators with nvcc {nvcc} next to torch for CUDA {}: both versions must \
                     be equal or in DeepSpeed's list{skip}",
                    names.cuda.text
                );
                release(("cannot", "cannot"), text)
            }
        }
    }
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
