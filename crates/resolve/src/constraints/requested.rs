//! Versions and names that the user requires.

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::request::{Base as RequestedBase, Versions};
use crate::universe::{Base, Build, Python, Release, series};
use crate::verdict::{BaseRefusal, BuildRefusal, Judgement, PackageRefusal, PythonRefusal, Refusal};

const SOURCES: &[&str] = &["the request"];

/// torch, its build and its CUDA.
pub(crate) const BUILD: Constraint = Constraint {
    id: "torch-asked-for",
    description: "torch, its build and its CUDA are what was asked for.",
    sources: SOURCES,
    judge: Judge::Build(build),
};

pub(crate) const PYTHON: Constraint = Constraint {
    id: "python-asked-for",
    description: "Python is what was asked for.",
    sources: SOURCES,
    judge: Judge::Python(python),
};

/// The base image and its system.
pub(crate) const BASE: Constraint = Constraint {
    id: "base-asked-for",
    description: "The base image and its system are what was asked for.",
    sources: SOURCES,
    judge: Judge::Base(base),
};

pub(crate) const PACKAGE: Constraint = Constraint {
    id: "package-asked-for",
    description: "A package has the version that was asked for.",
    sources: SOURCES,
    judge: Judge::Package(package),
};

fn build(criteria: &Criteria, build: &Build) -> Judgement {
    if let Some(requirement) = criteria.torch.iter().find(|requirement| !requirement.contain(&build.version))
    {
        return Judgement::Fails(Refusal::Build(BuildRefusal::TorchRequested {
            requirement: requirement.text.clone(),
        }));
    }
    let other =
        |requirement: &&&Versions| requirement.build.as_deref().is_some_and(|name| name != build.build.build);
    if let Some(requirement) = criteria.torch.iter().find(other) {
        return Judgement::Fails(Refusal::Build(BuildRefusal::TorchRequested {
            requirement: requirement.text.clone(),
        }));
    }
    if criteria.cpu && !build.is_cpu() {
        return Judgement::Fails(Refusal::Build(BuildRefusal::CpuRequested));
    }
    match criteria.cuda.iter().find(|requirement| !cuda_within(requirement, build)) {
        Some(requirement) => {
            let requirement = requirement.text.clone();
            Judgement::Fails(Refusal::Build(match build.is_cpu() {
                true => BuildRefusal::CudaRequestedOfCpuBuild { requirement },
                false => BuildRefusal::CudaRequested { requirement },
            }))
        }
        None => Judgement::Holds,
    }
}

/// Whether the build's CUDA minor (`12.1`), or a patch release of it, is among the required ones; never of a
/// CPU build.
pub(crate) fn cuda_within(requirement: &Versions, build: &Build) -> bool {
    build.cuda().is_some_and(|cuda| {
        requirement.contain(&cuda.version) || cuda.toolkits.iter().any(|full| requirement.contain(full))
    })
}

fn python(criteria: &Criteria, _build: &Build, python: &Python) -> Judgement {
    let refused = criteria.python.iter().find(|requirement| !python.within(&requirement.specifiers));
    refused.map_or(Judgement::Holds, |requirement| {
        Judgement::Fails(Refusal::Python(PythonRefusal::PythonRequested {
            requirement: requirement.text.clone(),
        }))
    })
}

fn base(criteria: &Criteria, build: &Build, base: &Base) -> Judgement {
    let id = base.system.map(|system| system.id.as_str());
    if let Some(requirement) = criteria.systems.iter().find(|requirement| Some(**requirement) != id) {
        return Judgement::Fails(Refusal::Base(BaseRefusal::SystemRequested {
            requirement: (*requirement).to_owned(),
        }));
    }
    for requirement in &criteria.bases {
        let fits = match requirement {
            RequestedBase::Repository(name) => base.image.is_some_and(|image| image.repository == name),
            RequestedBase::Image(reference) => base.image.is_some_and(|image| reference.names(image)),
            RequestedBase::None => base.image.is_none(),
        };
        if !fits {
            return Judgement::Fails(Refusal::Base(BaseRefusal::BaseRequested));
        }
    }
    // A patch release (12.1.0) is only known from the image; a minor was looked at with the build.
    let (Some(cuda), Some(own)) = (&base.cuda, build.cuda_version()) else { return Judgement::Holds };
    let same_minor = series(cuda) == series(own);
    // `<=12.1` and `==12.1` mean the minor; a requirement with three numbers means what it says.
    let of_minor =
        |requirement: &Versions| requirement.specifiers.iter().all(|one| one.version().release().len() < 3);
    let other = |requirement: &&&Versions| {
        !(requirement.contain(cuda) || same_minor && of_minor(requirement) && requirement.contain(own))
    };
    match criteria.cuda.iter().find(other) {
        Some(requirement) => Judgement::Fails(Refusal::Base(BaseRefusal::BaseCudaRequested {
            has: cuda.clone(),
            requirement: requirement.text.clone(),
        })),
        None => Judgement::Holds,
    }
}

fn package(criteria: &Criteria, release: &Release) -> Judgement {
    let refused =
        criteria.package(release.package).iter().find(|requirement| !requirement.contain(&release.version));
    refused.map_or(Judgement::Holds, |requirement| {
        Judgement::Fails(Refusal::Package(PackageRefusal::PackageRequested {
            package: release.package,
            requirement: requirement.text.clone(),
        }))
    })
}
