//! What packages require of each other and of torch.

use pep440_rs::VersionSpecifiers;

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, Python, Release};
use crate::verdict::{BuildGap, Gap, Judgement, PackageGap, PackageRefusal, Partner, Party, Refusal};

const SOURCES: &[&str] = &["metadata on PyPI, see the catalog's rows"];

/// What a package requires of torch.
pub(super) const TORCH: Constraint = Constraint {
    id: "torch-requirement-met",
    description: "What a package's metadata requires of torch and its partners is met.",
    sources: SOURCES,
    judge: Judge::PackageBuild(torch),
};

/// The same where it depends on the Python.
pub(super) const TORCH_ON_PYTHON: Constraint = Constraint {
    id: "torch-requirement-met-on-python",
    description: "What a package's metadata requires of torch and its partners on the Python is met.",
    sources: SOURCES,
    judge: Judge::PackageWheel(torch_on_python),
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

fn torch(criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    let requires = |name: &str| release.requires_on_every_python(name, criteria.architecture());
    if let Some((name, wants)) = unmet_by(build, requires) {
        return fails(Party::Candidate, name, wants, None);
    }
    if release.package == "setuptools"
        && let Some(wants) = build.setuptools.as_ref().filter(|wants| !wants.contains(&release.version))
    {
        return fails(Party::Torch, "setuptools", wants, None);
    }
    Judgement::Holds
}

fn torch_on_python(criteria: &Criteria, build: &Build, python: &Python, release: &Release) -> Judgement {
    let requires = |name: &str| {
        let depends = release.depends_on_python(name, criteria.architecture());
        release.requires(name, criteria.markers(python)).filter(|_| depends)
    };
    match unmet_by(build, requires) {
        Some((name, wants)) => fails(Party::Candidate, name, wants, None),
        None => Judgement::Holds,
    }
}

/// The first requirement on torch or its partners that a build does not meet.
fn unmet_by<'r>(
    build: &Build,
    requires: impl Fn(&str) -> Option<&'r VersionSpecifiers>,
) -> Option<(&'static str, &'r VersionSpecifiers)> {
    let parts = [
        ("torch", Some(&build.version)),
        ("torchvision", build.torchvision.as_ref()),
        ("torchaudio", build.torchaudio.as_ref()),
    ];
    parts.into_iter().find_map(|(name, version)| {
        let (version, wants) = (version?, requires(name)?);
        (!wants.contains(version)).then_some((name, wants))
    })
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
        None => Judgement::Unknown(Gap::Build(BuildGap::Partner { partner: Partner::Triton })),
    }
}

fn packages(criteria: &Criteria, environment: &Environment, one: &Release, two: &Release) -> Judgement {
    let python = environment.python;
    if let Some((versions, through)) = unmet(criteria, python, one, two) {
        return fails(Party::Candidate, two.package, versions, through);
    }
    let other = || Party::Package { name: two.package, version: two.text.clone() };
    unmet(criteria, python, two, one)
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
fn unmet<'r>(
    criteria: &Criteria,
    python: &Python,
    one: &'r Release,
    two: &Release,
) -> Option<(&'r VersionSpecifiers, Option<&'static str>)> {
    let own = one.requires(two.package, criteria.markers(python)).map(|wants| (wants, None));
    let indirect = one.indirect.iter().filter(|row| row.package == two.package && row.holds_on(python));
    let mut all = own.into_iter().chain(indirect.map(|row| (&row.versions, Some(row.through))));
    all.find(|(wants, _)| !wants.contains(&two.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::elsewhere::Elsewhere;

    use crate::constraints::testing::{environment, judged_package, judged_pair, release, row as stored};
    use crate::testing::universe;
    use crate::universe::{Differing, Markers};
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
    fn requirements_depend_on_python_and_processor() {
        let vllm = release("vllm", "0.11.0");
        let on = |python, architecture| {
            let markers = Markers { python, architecture };
            let versions = |name| vllm.requires(name, markers).map(ToString::to_string);
            (versions("numba"), versions("xformers"), versions("setuptools").is_some())
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(on("3.12", "x86_64"), (text("==0.61.2"), text("==0.0.32.post1"), true));
        assert_eq!(on("3.11", "x86_64"), (text("==0.61.2"), text("==0.0.32.post1"), false));
        assert_eq!(on("3.9", "aarch64"), (text("==0.60.0"), None, false));
        assert!(!vllm.depends_on_python("torch", "aarch64") && vllm.depends_on_python("numba", "x86_64"));
        assert_eq!(vllm.requires_on_every_python("xformers", "aarch64"), None);
        assert_eq!(vllm.requires_on_every_python("torch", "aarch64").unwrap().to_string(), "==2.8.0");
        let names = |markers| vllm.required(markers).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let here = names(Markers { python: "3.9", architecture: "aarch64" });
        assert!(here.contains(&"numba") && here.contains(&"torch"), "{here:?}");
        assert!(!here.contains(&"xformers") && !here.contains(&"setuptools"), "{here:?}");
        // Pairs of releases are judged in the same way.
        let pair = |python| {
            let environment = environment(("2.8.0", "cu128"), python, IMAGE);
            judged_pair(&PACKAGES, &environment, vllm, release("numba", "0.60.0"))
        };
        assert_eq!(pair("3.9"), Judgement::Holds);
        assert!(matches!(pair("3.12"), Judgement::Fails(_)));
    }

    #[test]
    fn torch_requirement_may_depend_on_the_python() {
        let row: Elsewhere =
            serde_json::from_str(r#"{"pythons": ["3.9"], "requires": {"torch": "<2.8"}}"#).unwrap();
        let specifiers = |text: &str| text.parse::<VersionSpecifiers>().unwrap();
        let release = Release {
            requires: vec![("torch", specifiers(">=2.8"))],
            elsewhere: vec![Differing { row: stored(row), requires: vec![("torch", specifiers("<2.8"))] }],
            ..release("numpy", "1.26.4").clone()
        };
        let on = |constraint, torch, python| {
            judged_package(constraint, &[], &environment(torch, python, IMAGE), &release) == Judgement::Holds
        };
        assert!(on(&TORCH, ("2.5.1", "cu124"), "3.9"), "which of them holds is decided with the Python");
        assert!(on(&TORCH_ON_PYTHON, ("2.5.1", "cu124"), "3.9"));
        assert!(!on(&TORCH_ON_PYTHON, ("2.5.1", "cu124"), "3.12"));
        assert!(on(&TORCH_ON_PYTHON, ("2.8.0", "cu128"), "3.12"));
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
