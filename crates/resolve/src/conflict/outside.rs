//! Requirements that reach beyond the catalog: what they ask for may exist, and the catalog cannot tell.

use catalog::packages::Package;
use pep440_rs::Version;

use super::super::request::{Requirement, RequirementKind, Versions};
use super::super::universe::Universe;
use super::absent;
use super::beyond::{just_before, newer, older};

/// On which side of the catalog a requirement lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    Older,
    Newer,
}

/// Whether a requirement leaves only versions before the catalog's oldest or after its newest: they may exist
/// and be compatible.
pub(super) fn outside(universe: &Universe, kind: &RequirementKind) -> Option<Outside> {
    let (versions, requirement) = versions(universe, kind)?;
    let (oldest, newest) = (versions.iter().min()?, versions.iter().max()?);
    absent::reason(universe, kind)?;
    match (older(oldest, requirement), newer(newest, requirement)) {
        (true, _) => Some(Outside::Older),
        (false, true) => Some(Outside::Newer),
        (false, false) => None,
    }
}

/// A package of a conflict that the catalog has from a later release on than the index, where the requirement
/// allows the earlier ones: its name and its oldest release here.
pub(super) fn with_older_releases(universe: &Universe, core: &[Requirement]) -> Option<(String, Version)> {
    let cpu = core.iter().any(|one| matches!(one.kind, RequirementKind::Cpu));
    core.iter().find_map(|one| {
        let RequirementKind::Package(name, requirement) = &one.kind else { return None };
        if cpu && universe.catalog.package(name).is_some_and(Package::requires_cuda) {
            // No release works with a CPU build, an older one neither.
            return None;
        }
        let package = universe.package(name).filter(|package| package.older_releases)?;
        let oldest = package.releases.iter().map(|release| &release.version).min()?;
        let admitted = requirement.contain(&just_before(oldest)?);
        admitted.then(|| (name.clone(), oldest.clone()))
    })
}

/// The versions that the catalog has of a part, and those that are required.
fn versions<'k>(universe: &Universe, kind: &'k RequirementKind) -> Option<(Vec<Version>, &'k Versions)> {
    Some(match kind {
        RequirementKind::Torch(requirement) => {
            (universe.builds.iter().map(|build| build.version.clone()).collect(), requirement)
        }
        RequirementKind::Cuda(requirement) => {
            let built: Vec<Version> =
                universe.builds.iter().filter_map(|build| build.cuda_version().cloned()).collect();
            let oldest = built.iter().min().cloned()?;
            let toolkits = universe.catalog.cuda().all().iter().filter_map(|row| row.toolkit.parse().ok());
            // Of an older toolkit it is not known whether torch was built for it.
            let toolkits = toolkits.filter(|toolkit: &Version| *toolkit > oldest);
            (built.into_iter().chain(toolkits).collect(), requirement)
        }
        RequirementKind::Python(requirement) => {
            (universe.pythons.iter().map(|python| python.version.clone()).collect(), requirement)
        }
        RequirementKind::Package(name, requirement) => {
            let releases = &universe.package(name)?.releases;
            (releases.iter().map(|release| release.version.clone()).collect(), requirement)
        }
        _ => return None,
    })
}
