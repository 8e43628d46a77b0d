//! The image's glibc is as new as the wheels ask for.

use super::flash_attn;
use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build, Release};
use crate::verdict::{BaseGap, BaseRefusal, Gap, Judgement, PackageGap, Refusal, Wheels};
use catalog::version::minor;

const SOURCES: &[&str] =
    &["https://peps.python.org/pep-0600/", "glibc of the systems: the catalog's systems"];

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "glibc-new-enough",
    description: "The system's glibc is at least the one in the tag of torch's wheels.",
    sources: SOURCES,
    judge: Judge::Base(torch),
};

pub(super) const PACKAGE: Constraint = Constraint {
    id: "package-glibc",
    description: "The system's glibc is at least the one in the tag of a package's wheels; of flash-attn's, \
        which have no such tag, that of the system on which they were built.",
    sources: SOURCES,
    judge: Judge::PackageEnvironment(package),
};

fn torch(criteria: &Criteria, build: &Build, base: &Base) -> Judgement {
    if build.image.is_some() {
        return Judgement::Holds;
    }
    let other = build.release.aarch64_glibc_min.as_deref().filter(|_| criteria.architecture() == "aarch64");
    match other.or(build.glibc) {
        Some(needs) if build.is_cpu() && other.is_none() => of_cpu_build(build, base, needs),
        Some(needs) => new_enough(base, needs, Wheels::Torch),
        None => Judgement::Unknown(Gap::Base(BaseGap::GlibcOfTorch)),
    }
}

/// The rows name the glibc of the CUDA builds, where it differs from that of the release: what is enough for
/// all of them is enough for the CPU build too.
fn of_cpu_build(build: &Build, base: &Base, needs: &str) -> Judgement {
    let of_builds = build.release.builds.iter().filter_map(|one| one.glibc_min.as_deref());
    let newer = of_builds.max_by_key(|one| minor(one)).filter(|one| minor(one) > minor(needs));
    match (new_enough(base, needs, Wheels::Torch), newer) {
        (Judgement::Holds, Some(newer)) if new_enough(base, newer, Wheels::Torch) != Judgement::Holds => {
            Judgement::Unknown(Gap::Base(BaseGap::GlibcOfTorch))
        }
        (judgement, _) => judgement,
    }
}

fn package(criteria: &Criteria, environment: &Environment, release: &Release) -> Judgement {
    let wheels = release.flash_attn.filter(|_| !criteria.compile);
    let by_hand =
        wheels.zip(flash_attn::target(criteria, environment.build)).is_some_and(|(wheels, target)| {
            let mut fitting =
                wheels.sets(target).filter(|set| set.pythons.contains(&environment.python.text)).peekable();
            fitting.peek().is_some() && fitting.all(|set| set.by_hand)
        });
    if by_hand {
        return Judgement::Unknown(Gap::Package(PackageGap::GlibcOfPackage));
    }
    let prebuilt = wheels.and_then(|wheels| wheels.glibc.as_deref());
    match release.glibc.or(prebuilt) {
        Some(needs) => new_enough(environment.base, needs, Wheels::Package),
        None => Judgement::Holds,
    }
}

fn new_enough(base: &Base, needs: &str, by: Wheels) -> Judgement {
    let Some(system) = base.system else {
        return Judgement::Unknown(Gap::Base(BaseGap::GlibcOfBase));
    };
    let (Some(has), Some(needed)) = (system.glibc.as_deref().and_then(minor), minor(needs)) else {
        return Judgement::Unknown(Gap::Base(BaseGap::GlibcOfSystem { system: system.name.clone() }));
    };
    Judgement::unless(has >= needed, || {
        Refusal::Base(BaseRefusal::GlibcTooOld {
            system: system.name.clone(),
            has,
            needs: needs.to_owned(),
            by,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{
        base, build, environment, judged_base, judged_package, python, release, row,
    };
    use catalog::images::Flavour;
    use catalog::testing::catalog;

    fn old() -> Base {
        let mut system = catalog().systems().system("ubuntu20.04").unwrap().clone();
        system.glibc = Some("2.27".into());
        Base { image: None, system: Some(row(system)), cuda: None, flavour: Flavour::Plain }
    }

    #[test]
    fn torch_wheel_requires_a_minimum_glibc() {
        let on = |torch: (&str, &str), base: &Base| {
            judged_base(&CONSTRAINT, &[], build(torch.0, torch.1), python("3.11"), base)
        };
        assert_eq!(on(("2.7.1", "cu126"), base("nvidia/cuda:12.6.3-base-ubuntu20.04")), Judgement::Holds);
        let too_old = on(("2.7.1", "cu126"), &old());
        let Judgement::Fails(Refusal::Base(BaseRefusal::GlibcTooOld { needs, .. })) = &too_old else {
            panic!("{too_old:?}")
        };
        assert_eq!(needs, "2.28");
        assert_eq!(on(("2.5.1", "cu121"), &old()), Judgement::Holds);
        assert!(matches!(on(("2.5.1", "cu121"), base("")), Judgement::Unknown(_)));
    }

    #[test]
    fn glibc_of_a_cpu_build_is_unknown_between_those_of_the_release_and_its_cuda_builds() {
        let on = |torch: &str, base: &Base| {
            judged_base(&CONSTRAINT, &[], build(torch, "cpu"), python("3.12"), base)
        };
        assert_eq!(on("2.6.0", base("nvidia/cuda:12.6.3-base-ubuntu20.04")), Judgement::Holds);
        assert_eq!(on("2.6.0", &old()), Judgement::Unknown(Gap::Base(BaseGap::GlibcOfTorch)));
        assert!(matches!(on("2.7.1", &old()), Judgement::Fails(_)));
        assert_eq!(on("2.5.1", &old()), Judgement::Holds);
    }

    #[test]
    fn package_wheel_requires_a_minimum_glibc() {
        let mut environment = environment(("2.5.1", "cu121"), "3.11", "nvidia/cuda:12.1.1-base-ubuntu22.04");
        let mut numpy = release("numpy", "1.26.4").clone();
        numpy.glibc = Some("2.28");
        assert_eq!(judged_package(&PACKAGE, &[], &environment, &numpy), Judgement::Holds);
        let old = old();
        environment.base = &old;
        assert!(matches!(judged_package(&PACKAGE, &[], &environment, &numpy), Judgement::Fails(_)));
        assert_eq!(
            judged_package(&PACKAGE, &[], &environment, release("deepspeed", "0.16.4")),
            Judgement::Holds
        );
    }
}
