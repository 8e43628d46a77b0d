//! torchvision, torchaudio, triton and NCCL go with the build: who asks for one of them asks for a build.

use pep440_rs::Version;

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::Versions;
use crate::universe::{Build, Python};
use crate::verdict::{BuildGap, BuildRefusal, Gap, Judgement, Partner, Refusal, nccl_wheel};

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "partner-asked-for",
    description: "The torchvision, torchaudio, triton and NCCL that were asked for are those of the torch \
        build: each torch release has its own.",
    sources: &["metadata of torch, torchvision and torchaudio on PyPI, see the catalog's torch rows"],
    judge: Judge::Build(judge),
};

fn judge(criteria: &Criteria, build: &Build) -> Judgement {
    let mut all = Judgement::Holds;
    for (&name, requirements) in &criteria.packages {
        let Some(partner) = Partner::of_package(name) else { continue };
        // Without a version, most of them are in every build for a GPU that is not an image's.
        let may_lack = partner == Partner::Torchaudio || nccl_wheel(name).is_some();
        for &requirement in requirements {
            let any = requirement.specifiers.is_empty();
            if !any || build.image.is_some() || build.is_cpu() || may_lack {
                all = all.and(judge_partner(criteria, partner, name, requirement, build));
            }
        }
    }
    all
}

/// What the requirements for one of them say of a build.
pub(crate) fn of(partner: Partner, criteria: &Criteria, build: &Build) -> Judgement {
    let mut all = Judgement::Holds;
    for (&requested, requirements) in &criteria.packages {
        let same = Partner::of_package(requested) == Some(partner);
        for &requirement in requirements.iter().filter(|_| same) {
            all = all.and(judge_partner(criteria, partner, requested, requirement, build));
        }
    }
    all
}

/// `package` is the name by which the partner was requested.
fn judge_partner(
    criteria: &Criteria,
    partner: Partner,
    package: &str,
    requirement: &Versions,
    build: &Build,
) -> Judgement {
    match partner {
        Partner::Torchvision => pinned(partner, requirement, build.torchvision.as_ref()),
        Partner::Torchaudio => torchaudio(requirement, build),
        Partner::Triton => triton(criteria, requirement, build),
        Partner::Nccl => match nccl_wheel(package) {
            None => nccl(criteria, requirement, build),
            Some(of_wheel) => {
                let Some(cuda) = build.cuda() else { return no_nccl() };
                if of_wheel != cuda.major() {
                    let package = package.to_owned();
                    return Judgement::Fails(Refusal::Build(BuildRefusal::NcclForOtherCuda { package }));
                }
                match requirement.specifiers.is_empty() {
                    true => Judgement::Holds,
                    false => nccl(criteria, requirement, build),
                }
            }
        },
    }
}

fn pinned(partner: Partner, requirement: &Versions, own: Option<&Version>) -> Judgement {
    match own {
        Some(own) => Judgement::unless(requirement.contain(own), || {
            Refusal::Build(BuildRefusal::PartnerMismatch {
                partner,
                needs: own.clone(),
                requirement: requirement.text.clone(),
            })
        }),
        None => Judgement::Unknown(Gap::Build(BuildGap::Partner { partner })),
    }
}

/// NCCL moves data between NVIDIA GPUs.
fn no_nccl() -> Judgement {
    Judgement::Fails(Refusal::Build(BuildRefusal::NcclOfCpuBuild))
}

/// Which NCCL a build has is not known of all; one that does not exist it has not.
fn nccl(criteria: &Criteria, requirement: &Versions, build: &Build) -> Judgement {
    if build.is_cpu() {
        return no_nccl();
    }
    let exists = || {
        criteria
            .catalog
            .nccl()
            .all()
            .iter()
            .any(|row| row.version.parse().is_ok_and(|one| requirement.contain(&one)))
    };
    match &build.nccl {
        None if !exists() => Judgement::Fails(Refusal::Build(BuildRefusal::NoSuchNccl {
            requirement: requirement.text.clone(),
        })),
        own => pinned(Partner::Nccl, requirement, own.as_ref()),
    }
}

/// Not every build has one: it ended before some CUDA versions came.
fn torchaudio(requirement: &Versions, build: &Build) -> Judgement {
    match (&build.torchaudio, &build.release.torchaudio) {
        // The catalog knows the CUDA builds for which the last one was made.
        (None, Some(_)) if build.is_cpu() => {
            Judgement::Unknown(Gap::Build(BuildGap::Partner { partner: Partner::Torchaudio }))
        }
        (None, Some(last)) => {
            Judgement::Fails(Refusal::Build(BuildRefusal::TorchaudioEnded { last: last.clone() }))
        }
        (Some(_), _) if requirement.specifiers.is_empty() => Judgement::Holds,
        (own, _) => pinned(Partner::Torchaudio, requirement, own.as_ref()),
    }
}

/// Patch releases of triton that a range such as `~=3.8.0` is tried with.
const PATCHES: u64 = 32;

/// Whether torch can be installed for a Python on which it does not require triton.
fn without_triton(criteria: &Criteria, build: &Build) -> bool {
    let python = |text: &String| Some(Python::new(text.clone(), text.parse().ok()?, None));
    let mut pythons = build.build.pythons.iter().flatten().filter_map(python);
    pythons.any(|python| {
        !build.requires_triton(&python)
            && criteria.python.iter().all(|requirement| python.within(&requirement.specifiers))
    })
}

fn triton(criteria: &Criteria, requirement: &Versions, build: &Build) -> Judgement {
    if build.is_cpu() || without_triton(criteria, build) {
        return Judgement::Holds;
    }
    let architecture = criteria.architecture();
    if architecture != "x86_64" && !build.on_pypi(architecture) {
        return Judgement::Unknown(Gap::Build(BuildGap::Partner { partner: Partner::Triton }));
    }
    let Some(required) = &build.triton else {
        return Judgement::Unknown(Gap::Build(BuildGap::Partner { partner: Partner::Triton }));
    };
    let base = required.iter().next().map(|one| one.version().release().to_vec()).unwrap_or_default();
    let number = |index: usize| base.get(index).copied().unwrap_or(0);
    let mut patches = (0..PATCHES).map(|patch| Version::new([number(0), number(1), patch]));
    if !patches.any(|one| required.contains(&one) && requirement.contain(&one)) {
        return Judgement::Fails(Refusal::Build(BuildRefusal::TritonMismatch {
            needs: required.clone(),
            requirement: requirement.text.clone(),
        }));
    }
    Judgement::Holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{build, judged, python_requirement, with};
    use crate::request::Requirement;

    #[test]
    fn torchvision_and_torchaudio_must_match_torch() {
        let torch = build("2.6.0", "cu124");
        assert_eq!(judged(&CONSTRAINT, &[with("torchvision", "0.21")], torch), Judgement::Holds);
        let refusal = Refusal::Build(BuildRefusal::PartnerMismatch {
            partner: Partner::Torchvision,
            needs: "0.21.0".parse().unwrap(),
            requirement: "0.17.0".into(),
        });
        let judged_torchvision = judged(&CONSTRAINT, &[with("torchvision", "0.17.0")], torch);
        assert_eq!(judged_torchvision, Judgement::Fails(refusal));
        let torchaudio =
            |requirement, of| judged(&CONSTRAINT, &[with("torchaudio", requirement)], build("2.14.1", of));
        assert_eq!(torchaudio("2.11.0", "cu130"), Judgement::Holds);
        for requirement in ["2.11.0", ""] {
            assert!(
                matches!(torchaudio(requirement, "cu132"), Judgement::Fails(_)),
                "it is built for CUDA 13.0"
            );
        }
        assert_eq!(judged(&CONSTRAINT, &[with("torchvision", "")], torch), Judgement::Holds);
        assert_eq!(judged(&CONSTRAINT, &[with("numpy", "1.0")], torch), Judgement::Holds);
    }

    #[test]
    fn triton_is_pinned_or_a_range() {
        let on = |requirement: &str, name: &str, of: &str| {
            judged(&CONSTRAINT, &[with("triton", requirement)], build(name, of))
        };
        assert_eq!(on("3.2", "2.6.0", "cu124"), Judgement::Holds);
        assert!(matches!(on("3.1.0", "2.6.0", "cu124"), Judgement::Fails(_)));
        assert!(matches!(on("3.2", "1.13.1", "cu117"), Judgement::Unknown(_)));
        for (requirement, holds) in
            [("3", true), ("3.9", true), ("3.9.1", true), ("3.8", false), (">=3.10", false)]
        {
            assert_eq!(on(requirement, "2.15.0", "cu132") == Judgement::Holds, holds, "{requirement}");
        }
    }

    #[test]
    fn triton_is_not_required_on_every_python() {
        let on = |requirements: &[Requirement]| judged(&CONSTRAINT, requirements, build("2.5.1", "cu124"));
        let newer = with("triton", "3.3.1");
        assert_eq!(on(&[newer.clone(), python_requirement("3.13")]), Judgement::Holds);
        assert_eq!(on(std::slice::from_ref(&newer)), Judgement::Holds, "Python 3.13 is possible");
        assert!(matches!(on(&[newer, python_requirement("3.12")]), Judgement::Fails(_)));
    }

    #[test]
    fn nccl_of_the_build() {
        let torch = build("2.5.1", "cu124");
        assert_eq!(judged(&CONSTRAINT, &[with("nccl", "2.21.5")], torch), Judgement::Holds);
        assert!(matches!(judged(&CONSTRAINT, &[with("nccl", "2.20")], torch), Judgement::Fails(_)));
        assert!(matches!(
            judged(&CONSTRAINT, &[with("nvidia-nccl-cu13", "2.21.5")], torch),
            Judgement::Fails(_)
        ));
        assert!(matches!(
            judged(&CONSTRAINT, &[with("nccl", "2.14")], build("1.13.1", "cu117")),
            Judgement::Unknown(_)
        ));
    }
}
