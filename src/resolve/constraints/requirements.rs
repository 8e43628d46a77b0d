//! What packages require of each other and of torch.

use pep440_rs::VersionSpecifiers;

use crate::resolve::constraint::{Constraint, Judge, Judgement, Place};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Build, Release};

const SOURCE: &str = "metadata on PyPI, see the catalog's rows";

/// What a package requires of torch.
pub const TORCH: Constraint = Constraint {
    id: "torch-requirement-met",
    says: "What a package's metadata requires of torch and its partners is met.",
    source: SOURCE,
    judge: Judge::PackageBuild(torch),
};

/// What packages require of each other.
pub const PACKAGES: Constraint = Constraint {
    id: "requirements-met",
    says: "What a package's metadata requires of other packages is met.",
    source: SOURCE,
    judge: Judge::Packages(packages),
};

fn torch(_wanted: &Wanted, build: &Build, release: &Release) -> Judgement {
    if let Some(wants) = release.requires("torch").filter(|wants| !wants.contains(&build.version)) {
        return Judgement::Fails(format!("{} requires torch {wants}", release.name()));
    }
    for (name, partner) in [("torchvision", &build.torchvision), ("torchaudio", &build.torchaudio)] {
        let Some(partner) = partner else { continue };
        if let Some(wants) = release.requires(name).filter(|wants| !wants.contains(partner)) {
            return Judgement::Fails(format!("{} requires {name} {wants}", release.name()));
        }
    }
    Judgement::Holds
}

fn packages(_wanted: &Wanted, _place: &Place, one: &Release, two: &Release) -> Judgement {
    let unmet = |one: &Release, two: &Release| -> Option<String> {
        let wants: &VersionSpecifiers =
            one.requires(two.package).filter(|wants| !wants.contains(&two.version))?;
        Some(format!("{} requires {} {wants}", one.name(), two.package))
    };
    unmet(one, two).or_else(|| unmet(two, one)).map_or(Judgement::Holds, Judgement::Fails)
}
