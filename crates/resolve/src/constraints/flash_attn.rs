//! flash-attn has a prebuilt wheel, unless it is compiled.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, Python, Release};
use crate::verdict::{Gap, Judgement, PackageGap, PackageRefusal, Refusal};
use catalog::flash_attn;

const SOURCE: &str = "Dao-AILab/flash-attention:.github/workflows/publish.yml at the tags, see the catalog's \
    rows of its wheels";

pub(super) const TORCH: Constraint = Constraint {
    id: "flash-attn-wheel",
    description: "Without --compile, flash-attn comes as a wheel of its release, made for one series of \
        torch, one CUDA major and one C++ ABI; PyPI has its source only.",
    source: SOURCE,
    judge: Judge::PackageBuild(torch),
};

pub(super) const PYTHON: Constraint = Constraint {
    id: "flash-attn-wheel-for-python",
    description: "Without --compile, flash-attn's release has a wheel for the Python.",
    source: SOURCE,
    judge: Judge::PackageWheel(python),
};

fn torch(criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    if release.package != "flash-attn" || criteria.compile {
        return Judgement::Holds;
    }
    let Some(wheels) = release.flash_attn else {
        return Judgement::Unknown(Gap::Package(PackageGap::FlashAttnWheels));
    };
    if criteria.architecture() == "aarch64" && !wheels.aarch64 {
        let architecture = criteria.architecture().to_owned();
        return Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnForArchitecture {
            architecture,
        }));
    }
    let Some(abi) = build.cxx11_abi else {
        return Judgement::Unknown(Gap::Package(PackageGap::FlashAttnAbi));
    };
    let fits = |set: &&flash_attn::Wheels| {
        set.torch.iter().any(|series| series == build.series_text())
            && set.cuda.contains(&build.cuda_major())
            && set.cxx11_abi.contains(&abi)
    };
    let mut sets = wheels.wheels.iter().filter(fits);
    let Some(first) = sets.next() else {
        return Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel {
            series: build.series_text(),
            cuda_major: build.cuda_major(),
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
    let (Some(wheels), Some(abi), false) = (release.flash_attn, build.cxx11_abi, criteria.compile) else {
        return Judgement::Holds;
    };
    let fits = |set: &flash_attn::Wheels| {
        set.torch.iter().any(|series| series == build.series_text())
            && set.cuda.contains(&build.cuda_major())
            && set.cxx11_abi.contains(&abi)
            && set.pythons.contains(&python.text)
    };
    Judgement::unless(wheels.wheels.iter().any(fits), || {
        Refusal::Package(PackageRefusal::NoFlashAttnWheel {
            series: build.series_text(),
            cuda_major: build.cuda_major(),
            python: Some(python.text.clone()),
        })
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
    fn wheels_of_a_release() {
        assert_eq!(on(&[], "2.8.3", ("2.8.0", "cu128"), "3.13"), Judgement::Holds);
        assert_eq!(on(&[], "2.8.3", ("2.4.1", "cu124"), "3.12"), Judgement::Holds);
        let missing = on(&[], "2.8.3", ("2.4.1", "cu124"), "3.13");
        let Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel { python, .. })) = &missing
        else {
            panic!("{missing:?}")
        };
        assert_eq!(python.as_deref(), Some("3.13"));
        assert!(matches!(
            on(&[], "2.8.3", ("2.9.0", "cu128"), "3.12"),
            Judgement::Fails(Refusal::Package(PackageRefusal::NoFlashAttnWheel { series: "2.9", .. }))
        ));
        assert!(matches!(on(&[], "2.8.3", ("2.4.1", "cu118"), "3.12"), Judgement::Fails(_)));
        assert!(matches!(on(&[], "2.7.3", ("2.6.0", "cu124"), "3.12"), Judgement::Unknown(_)));
        assert!(matches!(
            on(&[architecture("aarch64")], "2.8.3", ("2.8.0", "cu128"), "3.13"),
            Judgement::Fails(_)
        ));
    }

    #[test]
    fn compiled() {
        assert_eq!(on(&[compile()], "2.8.3", ("2.9.0", "cu128"), "3.12"), Judgement::Holds);
    }
}
