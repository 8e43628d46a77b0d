//! flash-attn has a prebuilt wheel, unless it is compiled.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, Python, Release};
use crate::verdict::{Gap, Judgement, PackageGap, PackageRefusal, Refusal};
use catalog::flash_attn::Target;

const SOURCES: &[&str] = &[
    "Dao-AILab/flash-attention:.github/workflows/publish.yml at the tags",
    "see the catalog's rows of its wheels",
];

pub(super) const TORCH: Constraint = Constraint {
    id: "flash-attn-wheel",
    description: "Without --compile, flash-attn comes as a wheel of its release, made for one series of \
        torch, one CUDA major and one C++ ABI; PyPI has its source only.",
    sources: SOURCES,
    judge: Judge::PackageBuild(torch),
};

pub(crate) const PYTHON: Constraint = Constraint {
    id: "flash-attn-wheel-for-python",
    description: "Without --compile, flash-attn's release has a wheel for the Python.",
    sources: SOURCES,
    judge: Judge::PackageWheel(python),
};

fn torch(criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    if release.package != "flash-attn" || criteria.compile {
        return Judgement::Holds;
    }
    let Some(wheels) = release.flash_attn else {
        return Judgement::Unknown(Gap::Package(PackageGap::FlashAttnWheels));
    };
    if !wheels.is_for(criteria.architecture()) {
        let architecture = criteria.architecture().to_owned();
        return Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnForArchitecture {
            architecture,
        }));
    }
    // flash-attn needs CUDA, as another constraint reports.
    let Some(cuda) = build.cuda() else { return Judgement::Holds };
    let Some(target) = target(criteria, build) else {
        return Judgement::Unknown(Gap::Package(PackageGap::FlashAttnAbi));
    };
    let mut sets = wheels.sets(target);
    let Some(first) = sets.next() else {
        return Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel {
            series: build.series_text(),
            cuda_major: cuda.major(),
            python: None,
        }));
    };
    if first.nightly && sets.all(|set| set.nightly) {
        return Judgement::Unknown(Gap::Package(PackageGap::FlashAttnNightly {
            series: build.series_text(),
        }));
    }
    Judgement::Holds
}

fn python(criteria: &Criteria, build: &Build, python: &Python, release: &Release) -> Judgement {
    let (Some(wheels), Some(target), false) = (release.flash_attn, target(criteria, build), criteria.compile)
    else {
        return Judgement::Holds;
    };
    let cuda_major = target.cuda;
    let mut fits = wheels.sets(target).filter(|set| set.pythons.contains(&python.text));
    Judgement::unless(fits.next().is_some(), || {
        Refusal::Package(PackageRefusal::NoFlashAttnWheel {
            series: build.series_text(),
            cuda_major,
            python: Some(python.text.clone()),
        })
    })
}

/// What a wheel has to be made for; `None` where the C++ ABI of the build is not known, and for CPU builds.
pub(super) fn target<'a>(criteria: &Criteria<'a>, build: &'a Build) -> Option<Target<'a>> {
    Some(Target {
        torch: build.series_text(),
        cuda: build.cuda()?.major(),
        cxx11_abi: build.cxx11_abi?,
        architecture: criteria.architecture(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{architecture, compile, environment, judged_package, release};
    use crate::request::Requirement;

    fn on(requirements: &[Requirement], version: &str, torch: (&str, &str), of: &str) -> Judgement {
        let environment = environment(torch, of, "nvidia/cuda:12.4.1-base-ubuntu22.04");
        let release = release("flash-attn", version);
        judged_package(&TORCH, requirements, &environment, release).and(judged_package(
            &PYTHON,
            requirements,
            &environment,
            release,
        ))
    }

    #[test]
    fn wheel_must_exist_for_torch_cuda_and_python() {
        assert_eq!(on(&[], "2.8.3", ("2.8.0", "cu128"), "3.13"), Judgement::Holds);
        assert_eq!(on(&[], "2.8.3", ("2.4.1", "cu124"), "3.12"), Judgement::Holds);
        let missing = on(&[], "2.8.3", ("2.4.1", "cu124"), "3.13");
        let Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel { python, .. })) = &missing
        else {
            panic!("{missing:?}")
        };
        assert_eq!(python.as_deref(), Some("3.13"));
        assert!(matches!(
            on(&[], "2.8.3", ("2.9.0", "cu128"), "3.11"),
            Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel { series: "2.9", .. }))
        ));
        assert!(matches!(
            on(&[], "2.8.2", ("2.9.0", "cu128"), "3.12"),
            Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel {
                series: "2.9",
                python: None,
                ..
            }))
        ));
        assert!(matches!(on(&[], "2.8.3", ("2.4.1", "cu118"), "3.12"), Judgement::Fails(_)));
        assert!(matches!(on(&[], "2.7.3", ("2.6.0", "cu124"), "3.12"), Judgement::Unknown(_)));
        assert!(matches!(
            on(&[architecture("aarch64")], "2.8.3", ("2.8.0", "cu128"), "3.13"),
            Judgement::Fails(_)
        ));
    }

    #[test]
    fn wheels_that_were_built_by_hand() {
        let arm = [architecture("aarch64")];
        assert_eq!(on(&[], "2.8.3", ("2.9.0", "cu128"), "3.12"), Judgement::Holds);
        assert_eq!(on(&arm, "2.8.3", ("2.9.0", "cu128"), "3.12"), Judgement::Holds);
        assert!(matches!(on(&arm, "2.8.2", ("2.9.0", "cu128"), "3.12"), Judgement::Fails(_)));
        let environment = environment(("2.9.0", "cu128"), "3.12", "nvidia/cuda:12.8.1-base-ubuntu24.04");
        let glibc = |version: &str| {
            judged_package(
                &crate::constraints::glibc::PACKAGE,
                &[],
                &environment,
                release("flash-attn", version),
            )
        };
        assert_eq!(glibc("2.8.3"), Judgement::Unknown(Gap::Package(PackageGap::GlibcOfPackage)));
    }

    #[test]
    fn compiling_needs_no_wheel() {
        assert_eq!(on(&[compile()], "2.8.3", ("2.9.0", "cu128"), "3.12"), Judgement::Holds);
    }
}
