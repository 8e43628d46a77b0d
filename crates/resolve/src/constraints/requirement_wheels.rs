//! What a package requires has a wheel, even where the catalog does not have it.

use catalog::packages::WithoutWheel;

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Python, Release};
use crate::verdict::{Gap, Judgement, PackageGap, PackageRefusal, Refusal};

const SOURCES: &[&str] = &["metadata and wheel tags on PyPI, see without_wheels in the catalog's packages"];

/// Where it has none for any Python.
pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "requirement-wheel",
    description: "What a package requires of packages outside the catalog has a wheel for the processor.",
    sources: SOURCES,
    judge: Judge::Package(judge),
};

/// Where it has one for other Pythons.
pub(crate) const PYTHON: Constraint = Constraint {
    id: "requirement-wheel-for-python",
    description: "What a package requires of packages outside the catalog has a wheel for the Python.",
    sources: SOURCES,
    judge: Judge::PackagePython(on_python),
};

fn judge(criteria: &Criteria, release: &Release) -> Judgement {
    lacking(criteria, release, |row| row.pythons.is_none())
}

fn on_python(criteria: &Criteria, python: &Python, release: &Release) -> Judgement {
    lacking(criteria, release, |row| row.pythons.as_ref().is_some_and(|list| list.contains(&python.text)))
}

fn lacking(criteria: &Criteria, release: &Release, there: impl Fn(&WithoutWheel) -> bool) -> Judgement {
    let here = |row: &&&'static WithoutWheel| {
        row.architecture.as_deref().is_none_or(|own| own == criteria.architecture()) && there(row)
    };
    let Some(row) = release.without_wheels.iter().find(here) else { return Judgement::Holds };
    let (requires, lacking) = (row.requires.as_str(), row.lacking.as_deref());
    if criteria.compile {
        let lacking = lacking.unwrap_or(requires);
        return Judgement::Unknown(Gap::Package(PackageGap::RequirementBuilds { lacking }));
    }
    Judgement::Fails(Refusal::Package(PackageRefusal::RequirementWithoutWheel {
        requires,
        lacking,
        pythons: row.pythons.as_deref(),
        architecture: row.architecture.as_deref(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{architecture, compile, environment, judged_package, release};
    use crate::request::Requirement;

    fn on(package: &str, version: &str, requirements: &[Requirement]) -> Judgement {
        let environment = environment(("2.9.1", "cu128"), "3.12", "nvidia/cuda:12.8.1-base-ubuntu24.04");
        judged_package(&CONSTRAINT, requirements, &environment, release(package, version))
    }

    #[test]
    fn requirement_without_any_wheel() {
        let Judgement::Fails(Refusal::Package(PackageRefusal::RequirementWithoutWheel { requires, .. })) =
            on("sglang", "0.5.21", &[])
        else {
            panic!()
        };
        assert_eq!(requires, "cuda-tile ==1.6.0rc5");
        assert_eq!(on("sglang", "0.5.17", &[]), Judgement::Holds);
        assert!(matches!(on("sglang", "0.5.21", &[compile()]), Judgement::Unknown(_)));
    }

    #[test]
    fn requirement_without_a_wheel_for_the_processor() {
        let arm = [architecture("aarch64")];
        assert!(matches!(on("sglang", "0.5.9", &arm), Judgement::Fails(_)));
        assert_eq!(on("sglang", "0.5.9", &[]), Judgement::Holds);
        assert_eq!(on("sglang", "0.5.11", &arm), Judgement::Holds);
    }
}
