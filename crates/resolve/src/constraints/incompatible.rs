//! Packages that are incompatible although their metadata does not say so.

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::releases::Incompatible;
use crate::universe::{Build, Python, Release};
use crate::verdict::{Judgement, PackageRefusal, Party, Refusal};

const SOURCES: &[&str] = &[
    "measured, or named in the projects' issues: the catalog's rows on incompatible releases of packages and \
    DeepSpeed",
];

pub(crate) const PACKAGES: Constraint = Constraint {
    id: "package-incompatible",
    description: "Two packages are not known to break each other, beyond what their metadata says.",
    sources: SOURCES,
    judge: Judge::Packages(packages),
};

/// A package and torch or its CUDA.
pub(super) const TORCH: Constraint = Constraint {
    id: "torch-incompatible",
    description: "A package is not known to break with the torch release or its CUDA, beyond what its \
        metadata says: numpy 2 with torch up to 2.2, old DeepSpeed with torch 2.4.",
    sources: SOURCES,
    judge: Judge::PackageBuild(torch),
};

/// A package, torch and the Python.
pub(crate) const PYTHON: Constraint = Constraint {
    id: "torch-incompatible-on-python",
    description: "A package is not known to break with the torch release on the Python.",
    sources: SOURCES,
    judge: Judge::PackageWheel(python),
};

fn packages(_criteria: &Criteria, _environment: &Environment, one: &Release, two: &Release) -> Judgement {
    let other = || Party::Package { name: two.package, version: two.text.clone() };
    if let Some(row) = one.refuses(two.package, &two.version) {
        return fails(Party::Candidate, other(), row);
    }
    match two.refuses(one.package, &one.version) {
        Some(row) => fails(other(), Party::Candidate, row),
        None => Judgement::Holds,
    }
}

fn torch(_criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    of_build(build, release, |row| row.python.is_none())
}

fn python(_criteria: &Criteria, build: &Build, python: &Python, release: &Release) -> Judgement {
    of_build(build, release, |row| row.python.as_ref().is_some_and(|on| python.within(on)))
}

fn of_build(build: &Build, release: &Release, counts: impl Fn(&Incompatible) -> bool) -> Judgement {
    if release.incompatible.is_empty() {
        return Judgement::Holds;
    }
    let torch = ("torch", &build.version, Party::Torch);
    let cuda = build.cuda_version().map(|version| ("cuda", version, Party::Cuda));
    for (name, version, with) in std::iter::once(torch).chain(cuda) {
        if let Some(row) = release.refuses(name, version).filter(|row| counts(row)) {
            return fails(Party::Candidate, with, row);
        }
    }
    Judgement::Holds
}

fn fails(package: Party, with: Party, row: &Incompatible) -> Judgement {
    Judgement::Fails(Refusal::Package(PackageRefusal::Incompatible { package, with, effect: row.effect }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{environment, judged_package, judged_pair, release};

    const IMAGE: &str = "nvidia/cuda:12.1.1-base-ubuntu22.04";

    fn effect(judgement: &Judgement) -> &'static str {
        match judgement {
            Judgement::Fails(Refusal::Package(PackageRefusal::Incompatible { effect, .. })) => effect,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numpy_2_and_torch() {
        let on = |torch: &str, numpy: &str| {
            judged_package(
                &TORCH,
                &[],
                &environment((torch, "cu121"), "3.11", IMAGE),
                release("numpy", numpy),
            )
        };
        assert!(effect(&on("2.2.2", "2.0.1")).contains("numpy 1"));
        assert_eq!(on("2.2.2", "1.26.4"), Judgement::Holds);
        assert_eq!(on("2.3.1", "2.0.1"), Judgement::Holds);
    }

    #[test]
    fn deepspeed_and_torch_2_4() {
        let on = |deepspeed: &str, torch: &str| {
            let environment = environment((torch, "cu121"), "3.11", IMAGE);
            judged_package(&TORCH, &[], &environment, release("deepspeed", deepspeed))
        };
        assert!(effect(&on("0.14.0", "2.4.1")).contains("'log'"));
        assert!(matches!(on("0.14.2", "2.4.1"), Judgement::Fails(_)));
        assert_eq!(on("0.14.4", "2.4.1"), Judgement::Holds);
        assert_eq!(on("0.14.0", "2.3.1"), Judgement::Holds);
    }

    #[test]
    fn incompatibility_can_be_limited_to_one_python() {
        let on = |python: &str, deepspeed: &str| {
            let environment = environment(("2.3.1", "cu121"), python, IMAGE);
            let release = release("deepspeed", deepspeed);
            (
                judged_package(&PYTHON, &[], &environment, release),
                judged_package(&TORCH, &[], &environment, release),
            )
        };
        assert!(matches!(on("3.12", "0.18.6"), (Judgement::Fails(_), Judgement::Holds)));
        assert_eq!(on("3.11", "0.18.6"), (Judgement::Holds, Judgement::Holds));
        assert_eq!(on("3.12", "0.18.7"), (Judgement::Holds, Judgement::Holds));
    }

    #[test]
    fn package_incompatibility_is_symmetric() {
        let environment = environment(("2.3.1", "cu121"), "3.11", IMAGE);
        let (old, new) = (release("deepspeed", "0.14.2"), release("deepspeed", "0.14.4"));
        let numpy = release("numpy", "2.0.1");
        for (one, two) in [(old, numpy), (numpy, old)] {
            assert!(matches!(judged_pair(&PACKAGES, &environment, one, two), Judgement::Fails(_)));
        }
        assert_eq!(judged_pair(&PACKAGES, &environment, new, numpy), Judgement::Holds);
    }

    #[test]
    fn old_deepspeed_needs_setuptools_on_python_3_12() {
        let companions = |deepspeed: &str, python: &str| -> Vec<&str> {
            let environment = environment(("2.3.1", "cu121"), python, IMAGE);
            release("deepspeed", deepspeed).companions(environment.python).collect()
        };
        assert_eq!(companions("0.16.4", "3.12"), ["setuptools"]);
        assert!(companions("0.16.4", "3.11").is_empty() && companions("0.19.8", "3.12").is_empty());
    }
}
