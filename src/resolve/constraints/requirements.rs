//! What packages require of each other and of torch.

use pep440_rs::Version;

use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::search::Choice;
use crate::resolve::wanted::Wanted;
use crate::resolve::world::Release;

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "requirements-met",
    says: "What a package's metadata requires of torch and of other packages is met.",
    source: "metadata on PyPI, see the catalog's rows",
    judge: Judge::Package(judge),
};

fn judge(_wanted: &Wanted, choice: &Choice, release: &Release) -> Judgement {
    let torch = choice.build;
    if let Some(wants) = release.requires("torch").filter(|wants| !wants.contains(&torch.version)) {
        return Judgement::Fails(format!("{} requires torch {wants}", release.name()));
    }
    for (name, partner) in
        [("torchvision", &torch.release.torchvision), ("torchaudio", &torch.release.torchaudio)]
    {
        let version = partner.as_deref().and_then(|text| text.parse::<Version>().ok());
        let refused =
            |wants: &&pep440_rs::VersionSpecifiers| version.as_ref().is_some_and(|one| !wants.contains(one));
        if let Some(wants) = release.requires(name).filter(refused) {
            return Judgement::Fails(format!("{} requires {name} {wants}", release.name()));
        }
    }
    for other in &choice.packages {
        for (one, two) in [(release, *other), (*other, release)] {
            if let Some(wants) = one.requires(two.package).filter(|wants| !wants.contains(&two.version)) {
                return Judgement::Fails(format!("{} requires {} {wants}", one.name(), two.package));
            }
        }
    }
    Judgement::Holds
}
