//! What a pin is about, and what takes its place.

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};

use crate::choice::Choice;
use crate::near::Near;
use crate::request::{Requirement, RequirementKind, Versions};
use crate::respecify::respecify;
use crate::universe::{Build, Universe};
use crate::verdict::{Partner, nccl_wheel};
use catalog::Catalog;

/// A part of a stack whose version changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Torch,
    /// The CUDA of the torch build.
    Cuda,
    Python,
    /// A package, by its normalised name.
    Package(String),
}

/// How readily a pin changes, the last ones first. A build of torch follows from its index; what requires
/// torch follows torch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Other,
    Python,
    RequiresTorch,
    Torch,
    TorchPartner,
    TorchBuild,
}

impl Part {
    /// The part that a requirement is about, and the versions that it allows; `None`: it is no pin.
    pub(super) fn of(requirement: &Requirement) -> Option<(Part, &Versions)> {
        match &requirement.kind {
            RequirementKind::Torch(versions) => Some((Part::Torch, versions)),
            RequirementKind::Cuda(versions) => Some((Part::Cuda, versions)),
            RequirementKind::Python(versions) => Some((Part::Python, versions)),
            RequirementKind::Package(name, versions) => Some((Part::Package(name.clone()), versions)),
            _ => None,
        }
    }

    /// A requirement for this part.
    pub(super) fn kind(&self, versions: Versions) -> RequirementKind {
        match self {
            Part::Torch => RequirementKind::Torch(versions),
            Part::Cuda => RequirementKind::Cuda(versions),
            Part::Python => RequirementKind::Python(versions),
            Part::Package(name) => RequirementKind::Package(name.clone(), versions),
        }
    }

    /// What remains of a requirement whose version is free. A CPU build stays one.
    pub(super) fn relaxed(&self, versions: &Versions, catalog: &Catalog) -> RequirementKind {
        let cpu = |name: &String| *self == Part::Torch && name.as_str() == catalog.torch().cpu_build();
        self.kind(Versions { build: versions.build.clone().filter(cpu), ..Versions::any() })
    }

    pub(super) fn class(&self, versions: &Versions, universe: &Universe) -> Class {
        match self {
            Part::Torch if versions.specifiers.is_empty() => Class::TorchBuild,
            Part::Torch => Class::Torch,
            Part::Cuda => Class::TorchBuild,
            Part::Python => Class::Python,
            Part::Package(name) if Partner::of_package(name).is_some() => Class::TorchPartner,
            Part::Package(name) if requires_torch(universe, name) => Class::RequiresTorch,
            Part::Package(_) => Class::Other,
        }
    }

    /// Whether its wheels are those of torch's build, and may name it: `0.20.1+cu121`.
    pub(super) fn has_torch_builds(&self) -> bool {
        match self {
            Part::Torch => true,
            Part::Package(name) => ["torchvision", "torchaudio"].contains(&name.as_str()),
            Part::Cuda | Part::Python => false,
        }
    }

    /// Its version in a stack, without a build.
    pub(super) fn in_choice(&self, choice: &Choice) -> Option<Version> {
        let build = choice.environment.build;
        match self {
            Part::Torch => Some(build.version.clone()),
            Part::Cuda => build.cuda_version().cloned(),
            Part::Python => Some(choice.environment.python.version.clone()),
            Part::Package(name) => match choice.package(name) {
                Some(release) => Some(release.version.clone()),
                None => partner(name, build),
            },
        }
    }

    /// Specifiers in place of those that exclude the version in a stack. The releases of a series of Python
    /// are not in the catalog: `==3.11.9` becomes `==3.12.*`.
    pub(super) fn respecified(
        &self,
        specifiers: &VersionSpecifiers,
        choice: &Choice,
    ) -> Option<VersionSpecifiers> {
        let version = self.in_choice(choice)?;
        if *self != Part::Python {
            return Some(respecify(specifiers, &version));
        }
        let of_series = |one: &VersionSpecifier| match one.operator() {
            _ if choice.environment.python.within(&one.clone().into()) => one.clone().into(),
            Operator::Equal | Operator::ExactEqual if one.version().release().len() > 2 => {
                VersionSpecifier::equals_star_version(version.clone()).into()
            }
            _ => respecify(&one.clone().into(), &version),
        };
        Some(specifiers.iter().flat_map(of_series).collect())
    }

    /// Makes a search stay near to the versions that were required.
    pub(super) fn keep_near(&self, near: &mut Near, universe: &Universe, versions: &Versions) {
        match self {
            Part::Torch => near.add_torch(versions, universe.builds.iter().map(|build| &build.version)),
            Part::Cuda => near.add_cuda(versions, universe.builds.iter().filter_map(Build::cuda_version)),
            Part::Python => near.add_python(versions, universe.pythons.iter().map(|one| &one.version)),
            Part::Package(name) => {
                if let Some(package) = universe.package(name) {
                    near.add_package(name, versions, package.releases.iter().map(|one| &one.version));
                }
            }
        }
    }
}

/// The version of a package that comes with the torch build. Of a range of tritons it is the first.
fn partner(name: &str, build: &Build) -> Option<Version> {
    match name {
        "torchvision" => build.torchvision.clone(),
        "torchaudio" => build.torchaudio.clone(),
        "triton" => build.triton.as_ref()?.first().map(|one| one.version().clone()),
        name if name == "nccl" || nccl_wheel(name).is_some() => build.nccl.clone(),
        _ => None,
    }
}

fn requires_torch(universe: &Universe, name: &str) -> bool {
    let of_package = universe.package(name).map_or(&[][..], |package| &package.releases);
    let lists = of_package.iter().flat_map(|release| {
        std::iter::once(&release.requires).chain(release.elsewhere.iter().map(|one| &one.requires))
    });
    lists.flatten().any(|(required, _)| *required == "torch")
}
