//! Requirements that reach beyond the catalog: what they ask for may exist, and the catalog cannot tell.

use pep440_rs::Version;

use super::super::request::{Requirement, RequirementKind, Versions};
use super::super::universe::{Universe, series};
use super::absent;

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
    core.iter().find_map(|one| {
        let RequirementKind::Package(name, requirement) = &one.kind else { return None };
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
            let built: Vec<Version> = universe.builds.iter().map(|build| build.cuda.clone()).collect();
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

/// Whether a version before the oldest one can be meant.
pub(super) fn older(oldest: &Version, requirement: &Versions) -> bool {
    let named = requirement.specifiers.iter().map(|one| one.version().clone());
    let before = requirement.specifiers.iter().filter_map(|one| just_before(one.version()));
    let mut all = named.chain(before);
    all.any(|version| {
        version < *oldest && series(&version) != series(oldest) && requirement.contain(&version)
    })
}

/// Whether a version after the newest one can be meant.
pub(super) fn newer(newest: &Version, requirement: &Versions) -> bool {
    let named = requirement.specifiers.iter().map(|one| one.version().clone());
    let after = requirement.specifiers.iter().filter_map(|one| just_after(one.version()));
    // 3.15 is no later than Python 3.15, nor 13.2 than CUDA 13.2.1.
    let is_later = |version: &Version| *version > *newest && !same_beginning(version, newest);
    named.chain(after).any(|version| is_later(&version) && requirement.contain(&version))
}

/// Whether one version is the other, or its beginning.
fn same_beginning(one: &Version, other: &Version) -> bool {
    one.release().iter().zip(other.release()).all(|(one, other)| one == other)
}

/// A version shortly before another: `59` of `60`, `1.20` of `1.21.0`.
fn just_before(version: &Version) -> Option<Version> {
    let mut numbers = version.release().to_vec();
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    *numbers.last_mut()? -= 1;
    Some(Version::new(numbers))
}

/// A version shortly after another: `61` of `60`.
fn just_after(version: &Version) -> Option<Version> {
    let mut numbers = version.release().to_vec();
    *numbers.last_mut()? += 1;
    Some(Version::new(numbers))
}
