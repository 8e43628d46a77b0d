//! What packages require of each other and of torch.

use pep440_rs::VersionSpecifiers;

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, Python, Release};
use crate::verdict::{BuildGap, Gap, Judgement, PackageGap, PackageRefusal, Party, Refusal};

const SOURCES: &[&str] = &["metadata on PyPI, see the catalog's rows"];

/// What a package requires of torch.
pub(super) const TORCH: Constraint = Constraint {
    id: "torch-requirement-met",
    description: "What a package's metadata requires of torch and its partners is met.",
    sources: SOURCES,
    judge: Judge::PackageBuild(torch),
};

/// What torch requires of triton.
pub(super) const TRITON: Constraint = Constraint {
    id: "triton-requirement-met",
    description: "The triton is the one that torch requires on the Python.",
    sources: SOURCES,
    judge: Judge::PackageWheel(triton),
};

/// What packages require of each other.
pub(crate) const PACKAGES: Constraint = Constraint {
    id: "requirements-met",
    description: "What a package's metadata requires of other packages is met.",
    sources: SOURCES,
    judge: Judge::Packages(packages),
};

fn torch(_criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    let fails = |by, package, versions: &VersionSpecifiers| {
        Judgement::Fails(Refusal::Package(PackageRefusal::Requires {
            by,
            package,
            versions: versions.clone(),
            through: None,
        }))
    };
    if let Some(wants) = release.requires("torch").filter(|wants| !wants.contains(&build.version)) {
        return fails(Party::Candidate, "torch", wants);
    }
    for (name, partner) in [("torchvision", &build.torchvision), ("torchaudio", &build.torchaudio)] {
        let Some(partner) = partner else { continue };
        if let Some(wants) = release.requires(name).filter(|wants| !wants.contains(partner)) {
            return fails(Party::Candidate, name, wants);
        }
    }
    if release.package == "setuptools"
        && let Some(wants) = build.setuptools.as_ref().filter(|wants| !wants.contains(&release.version))
    {
        return fails(Party::Torch, "setuptools", wants);
    }
    Judgement::Holds
}

/// torch requires one triton on most Pythons; there it alone may be installed.
fn triton(criteria: &Criteria, build: &Build, python: &Python, release: &Release) -> Judgement {
    if release.package != "triton" {
        return Judgement::Holds;
    }
    if !build.requires_triton(python) {
        let same = build.triton.as_ref().is_some_and(|wants| wants.contains(&release.version));
        return if same {
            Judgement::Holds
        } else {
            Judgement::Unknown(Gap::Package(PackageGap::TritonNotRequired))
        };
    }
    // What the aarch64 wheels on other indexes than PyPI require is not known.
    let known = criteria.architecture() == "x86_64" || build.on_pypi(criteria.architecture());
    match build.triton.as_ref().filter(|_| known) {
        Some(wants) => Judgement::unless(wants.contains(&release.version), || {
            Refusal::Package(PackageRefusal::TritonRequired { versions: wants.clone() })
        }),
        None => Judgement::Unknown(Gap::Build(BuildGap::Partner { partner: "triton" })),
    }
}

fn packages(_criteria: &Criteria, _environment: &Environment, one: &Release, two: &Release) -> Judgement {
    if let Some((versions, through)) = unmet(one, two) {
        return fails(Party::Candidate, two.package, versions, through);
    }
    let other = || Party::Package { name: two.package, version: two.text.clone() };
    unmet(two, one)
        .map_or(Judgement::Holds, |(versions, through)| fails(other(), one.package, versions, through))
}

fn fails(
    by: Party,
    package: &'static str,
    versions: &VersionSpecifiers,
    through: Option<&'static str>,
) -> Judgement {
    let versions = versions.clone();
    Judgement::Fails(Refusal::Package(PackageRefusal::Requires { by, package, versions, through }))
}

/// What one release requires of the package of another, itself or through a package that is not in the
/// catalog, if the other does not meet it.
fn unmet<'r>(one: &'r Release, two: &Release) -> Option<(&'r VersionSpecifiers, Option<&'static str>)> {
    let own = one.requires(two.package).map(|wants| (wants, None));
    let indirect = one.indirect.iter().filter(|row| row.package == two.package);
    let mut all = own.into_iter().chain(indirect.map(|row| (&row.versions, Some(row.through))));
    all.find(|(wants, _)| !wants.contains(&two.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{environment, judged_package, judged_pair, release};
    use crate::testing::universe;
    use crate::verdict::Tolerance;
    use crate::verdict::{Candidate, Reason};

    const IMAGE: &str = "nvidia/cuda:12.4.1-base-ubuntu22.04";

    #[test]
    fn package_requirement_on_torch_must_hold() {
        let on = |torch: &str, deepspeed: &str| {
            let environment = environment((torch, "cu117"), "3.10", IMAGE);
            judged_package(&TORCH, &[], &environment, release("deepspeed", deepspeed))
        };
        assert!(matches!(
            on("1.13.1", "0.19.8"),
            Judgement::Fails(Refusal::Package(PackageRefusal::Requires {
                by: Party::Candidate,
                package: "torch",
                ..
            }))
        ));
        assert_eq!(on("1.13.1", "0.9.5"), Judgement::Holds);
    }

    #[test]
    fn triton_must_match_the_requirement_of_torch() {
        let on = |torch: (&str, &str), python: &str| {
            judged_package(&TRITON, &[], &environment(torch, python, IMAGE), release("triton", "3.3.1"))
        };
        assert_eq!(on(("2.7.1", "cu126"), "3.12"), Judgement::Holds);
        assert!(matches!(
            on(("2.5.1", "cu124"), "3.12"),
            Judgement::Fails(Refusal::Package(PackageRefusal::TritonRequired { .. }))
        ));
        assert_eq!(
            on(("2.5.1", "cu124"), "3.13"),
            Judgement::Unknown(Gap::Package(PackageGap::TritonNotRequired))
        );
    }

    #[test]
    fn package_requirements_on_each_other_must_hold() {
        let environment = environment(("2.5.1", "cu124"), "3.12", IMAGE);
        let (old, new) = (release("deepspeed", "0.9.5"), release("deepspeed", "0.16.4"));
        let pydantic = |major: &str| {
            let package = universe().package("pydantic").unwrap();
            package.releases.iter().find(|one| one.text.starts_with(major)).unwrap()
        };
        for (one, major, holds) in
            [(old, "1.", true), (old, "2.", false), (new, "2.", true), (new, "1.", false)]
        {
            let refusal = |one: &Release, two: &Release| {
                let objection =
                    judged_pair(&PACKAGES, &environment, one, two).objection(Tolerance::LOOSEST)?;
                let candidate = Candidate { release: Some(one), ..Candidate::default() };
                Some(Reason { constraint: PACKAGES.id, objection, candidate }.sentence())
            };
            let message = refusal(one, pydantic(major));
            assert_eq!(message, refusal(pydantic(major), one));
            assert_eq!(message.is_none(), holds, "{} {major}: {message:?}", one.name());
        }
    }

    #[test]
    fn requirements_through_other_packages_count() {
        let environment = environment(("2.14.0", "cu130"), "3.12", IMAGE);
        let vllm = release("vllm", "0.33.0");
        let judged = judged_pair(&PACKAGES, &environment, vllm, release("numpy", "1.26.4"));
        let Judgement::Fails(Refusal::Package(PackageRefusal::Requires { through, .. })) = &judged else {
            panic!("{judged:?}")
        };
        assert!(through.unwrap().starts_with("opencv-python-headless"), "{through:?}");
        let newer = judged_pair(&PACKAGES, &environment, vllm, release("numpy", "2.2.6"));
        assert_eq!(newer, Judgement::Holds);
    }
}
