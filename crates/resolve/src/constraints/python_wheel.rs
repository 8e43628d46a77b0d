//! There are wheels for the Python.

use pep440_rs::VersionSpecifiers;

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Build, Python, Release};
use crate::verdict::{
    BuildGap, Gap, Judgement, Note, PackageGap, PackageRefusal, Partner, PythonRefusal, Refusal,
};

const SOURCES: &[&str] = &["wheel tags and Requires-Python on PyPI, see the catalog's rows"];

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "torch-wheel-for-python",
    description: "torch has a wheel for the Python.",
    sources: SOURCES,
    judge: Judge::Python(torch),
};

/// Wheels of torchvision and torchaudio.
pub(crate) const PARTNERS: Constraint = Constraint {
    id: "partner-wheel-for-python",
    description: "The torchvision and torchaudio that were asked for have a wheel for the Python; one that \
        was not asked for is left out where it has none.",
    sources: SOURCES,
    judge: Judge::Python(partners),
};

pub(crate) const PACKAGE: Constraint = Constraint {
    id: "package-wheel-for-python",
    description: "A package allows the Python, and has a wheel for it where it has wheels.",
    sources: SOURCES,
    judge: Judge::PackagePython(package),
};

/// A package without a wheel that came out before torch.
pub(crate) const COMPILED: Constraint = Constraint {
    id: "package-compiles-with-torch",
    description: "A package that has to be compiled because its release has no wheel is not older than the \
        torch that it is compiled against.",
    sources: &["days of release on PyPI, see the catalog's rows"],
    judge: Judge::PackageBuild(compiled),
};

fn compiled(_criteria: &Criteria, build: &Build, release: &Release) -> Judgement {
    let torch = build.release.released.as_deref().unwrap_or_default();
    let both_known = !torch.is_empty() && !release.released.is_empty();
    let older = release.lacks_wheel && both_known && release.released.as_str() < torch;
    Judgement::unless(!older, || {
        let released = release.released.clone();
        Refusal::Package(PackageRefusal::NoWheelAndOlderThanTorch { released })
    })
}

fn torch(criteria: &Criteria, build: &Build, python: &Python) -> Judgement {
    let never = || build.release.pythons.as_ref().is_some_and(|list| !list.contains(&python.text));
    let Some(pythons) = build.pythons_for(criteria.architecture()) else {
        // Of a build that was only seen: at most the Pythons of the release.
        return match never() {
            true => Judgement::Fails(Refusal::Python(PythonRefusal::NoTorchWheel { has: Vec::new() })),
            false => Judgement::Unknown(Gap::Build(BuildGap::PythonsOfTorch)),
        };
    };
    // The wheel index may have a CPU build for more Pythons of the release than its matrix.
    if build.is_cpu()
        && !build.on_pypi(criteria.architecture())
        && !pythons.contains(&python.text)
        && !never()
    {
        return Judgement::Unknown(Gap::Build(BuildGap::PythonsOfTorch));
    }
    // Where a Python lacks only the wheels for aarch64, another constraint says so.
    let of_processor =
        build.release.aarch64_pythons.as_ref().filter(|_| criteria.architecture() == "aarch64");
    let has = || {
        let there = |text: &&String| of_processor.is_none_or(|list| list.contains(text));
        pythons.iter().filter(there).cloned().collect()
    };
    Judgement::unless(pythons.contains(&python.text), || match build.image {
        Some(_) => Refusal::Python(PythonRefusal::TorchOfImageForPython { has: pythons.clone() }),
        None => Refusal::Python(PythonRefusal::NoTorchWheel { has: has() }),
    })
}

fn partners(criteria: &Criteria, build: &Build, python: &Python) -> Judgement {
    let mut all = Judgement::Holds;
    for partner in [Partner::Torchvision, Partner::Torchaudio] {
        let Some(missing) = missing(criteria, build, python, partner) else { continue };
        let requested = criteria.packages.contains_key(partner.name());
        all = all.and(match missing {
            missing if !requested => Judgement::Notes(Note::LeftOut(Box::new(missing))),
            Refusal::Python(PythonRefusal::NoPartnerWheel { partner, version })
                if !build.on_pypi(criteria.architecture()) =>
            {
                Judgement::Unknown(Gap::Build(BuildGap::PartnerWheel { partner, version }))
            }
            missing => Judgement::Fails(missing),
        });
    }
    all
}

/// Why there is no partner for the Python; `None`: there is one, or the build has no such partner at all.
fn missing(criteria: &Criteria, build: &Build, python: &Python, partner: Partner) -> Option<Refusal> {
    let release = build.release;
    let (version, lacks, declares) = match partner {
        Partner::Torchvision => {
            (&build.torchvision, &release.torchvision_lacks, build.torchvision_python.as_ref())
        }
        _ => (&build.torchaudio, &release.torchaudio_lacks, None),
    };
    let version = version.clone()?;
    if lacks.contains(&python.text) {
        return Some(Refusal::Python(PythonRefusal::NoPartnerWheel { partner, version }));
    }
    // Only whoever names a patch release can meet one that is left out.
    let declares = declares.filter(|_| !criteria.python.is_empty())?;
    let requirements = criteria.python.iter().flat_map(|requirement| requirement.specifiers.iter());
    let both: VersionSpecifiers = requirements.chain(declares.iter()).cloned().collect();
    (!python.within(&both)).then(|| {
        Refusal::Python(PythonRefusal::PartnerExcludesPython {
            partner,
            version,
            requirements: criteria.python.iter().map(|requirement| requirement.text.clone()).collect(),
            requires_python: declares.clone(),
        })
    })
}

/// Whether torchvision or torchaudio is left out of a stack because there is none for the Python, and nobody
/// asked for it.
pub(crate) fn left_out(criteria: &Criteria, build: &Build, python: &Python, partner: Partner) -> bool {
    !criteria.packages.contains_key(partner.name()) && missing(criteria, build, python, partner).is_some()
}

fn package(criteria: &Criteria, python: &Python, release: &Release) -> Judgement {
    if release.lacks_wheel && criteria.compile {
        return Judgement::Unknown(Gap::Package(PackageGap::CompilesWithTorch));
    }
    if release.lacks_wheel {
        return Judgement::Fails(Refusal::Package(PackageRefusal::NotCompiled));
    }
    if let Some(allowed) = release.python.as_ref().filter(|allowed| !python.within(allowed)) {
        return Judgement::Fails(Refusal::Package(PackageRefusal::ExcludesPython {
            requires_python: allowed.clone(),
        }));
    }
    Judgement::unless(release.pythons.is_none_or(|list| list.contains(&python.text)), || {
        Refusal::Package(PackageRefusal::NoWheelForPython { python: python.text.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{
        build, environment, judged_package, judged_python, python, python_requirement, release, with,
    };

    #[test]
    fn torch_wheel_must_exist_for_the_python() {
        let on = |torch: (&str, &str), of: &str| {
            judged_python(&CONSTRAINT, &[], build(torch.0, torch.1), python(of))
        };
        assert_eq!(on(("2.2.0", "cu121"), "3.12"), Judgement::Holds);
        let Judgement::Fails(Refusal::Python(PythonRefusal::NoTorchWheel { has })) =
            on(("2.1.2", "cu121"), "3.12")
        else {
            panic!()
        };
        assert_eq!(has, ["3.8", "3.9", "3.10", "3.11"]);
        // PyPI's build has a wheel for 3.13, the others have none.
        assert_eq!(on(("2.5.1", "cu124"), "3.13"), Judgement::Holds);
        assert!(matches!(on(("2.5.1", "cu121"), "3.13"), Judgement::Fails(_)));
        assert!(matches!(on(("2.13.0", "cu129"), "3.12"), Judgement::Unknown(_)));
        assert!(matches!(on(("2.13.0", "cu129"), "3.8"), Judgement::Fails(_)));
    }

    #[test]
    fn torchvision_wheel_must_exist_for_the_python() {
        let on = |requirements: &[crate::request::Requirement], of: &str| {
            judged_python(&PARTNERS, requirements, build("2.5.1", "cu124"), python(of))
        };
        assert!(matches!(on(&[with("torchvision", "")], "3.13"), Judgement::Fails(_)));
        assert_eq!(on(&[with("torchvision", "")], "3.12"), Judgement::Holds);
        assert!(matches!(on(&[], "3.13"), Judgement::Notes(_)));
        assert_eq!(on(&[], "3.12"), Judgement::Holds);
    }

    #[test]
    fn patch_releases_that_torchvision_leaves_out() {
        let on = |requirements: &[crate::request::Requirement], torch: (&str, &str)| {
            judged_python(&PARTNERS, requirements, build(torch.0, torch.1), python("3.14"))
        };
        let (newest, before) = (("2.15.0", "cu132"), ("2.10.0", "cu128"));
        let judged = on(&[python_requirement("3.14.1"), with("torchvision", "")], newest);
        let Judgement::Fails(Refusal::Python(refusal)) = judged else { panic!("{judged:?}") };
        assert!(matches!(refusal,
            PythonRefusal::PartnerExcludesPython { partner: Partner::Torchvision, requirements, .. }
                if requirements == ["3.14.1"]));
        assert!(matches!(on(&[python_requirement("3.14.1")], newest), Judgement::Notes(_)));
        for python in ["3.14", "3.14.2", ">=3.14.1"] {
            assert_eq!(
                on(&[python_requirement(python), with("torchvision", "")], newest),
                Judgement::Holds,
                "{python}"
            );
        }
        assert_eq!(on(&[python_requirement("3.14.1"), with("torchvision", "")], before), Judgement::Holds);
    }

    #[test]
    fn package_wheel_must_exist_for_the_python() {
        let on = |of: &str, version: &str| {
            let environment = environment(("2.5.1", "cu124"), of, "nvidia/cuda:12.4.1-base-ubuntu22.04");
            judged_package(&PACKAGE, &[], &environment, release("numpy", version))
        };
        assert_eq!(on("3.12", "1.26.4"), Judgement::Holds);
        assert!(matches!(on("3.13", "1.26.4"), Judgement::Fails(_)));
        assert!(matches!(on("3.8", "1.26.4"), Judgement::Fails(_)));
    }
}
