//! What packages require of each other and of torch.

use pep440_rs::VersionSpecifiers;

use crate::constraint::{Constraint, Judge, Judgement, Place};
use crate::wanted::Wanted;
use crate::world::{Build, Release};

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
    if release.package == "setuptools"
        && let Some(wants) = build.setuptools.as_ref().filter(|wants| !wants.contains(&release.version))
    {
        return Judgement::Fails(format!("torch {} requires setuptools {wants}", build.release.version));
    }
    if release.package == "triton" {
        return triton(build, release);
    }
    Judgement::Holds
}

/// torch requires one triton; it alone may be there.
fn triton(build: &Build, release: &Release) -> Judgement {
    match &build.triton {
        Some(wants) => Judgement::unless(wants.contains(&release.version), || {
            format!("{} requires triton {wants}", build.name())
        }),
        None => Judgement::Unknown(format!("which triton {} requires is not known", build.name())),
    }
}

fn packages(_wanted: &Wanted, _place: &Place, one: &Release, two: &Release) -> Judgement {
    let unmet = |one: &Release, two: &Release| -> Option<String> {
        let wants: &VersionSpecifiers =
            one.requires(two.package).filter(|wants| !wants.contains(&two.version))?;
        Some(format!("{} requires {} {wants}", one.name(), two.package))
    };
    unmet(one, two).or_else(|| unmet(two, one)).map_or(Judgement::Holds, Judgement::Fails)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{judged_package, judged_pair, place, release};
    use crate::world::World;

    const IMAGE: &str = "nvidia/cuda:12.4.1-base-ubuntu22.04";

    #[test]
    fn of_torch() {
        let on = |torch: &str, deepspeed: &str| {
            let place = place((torch, "cu117"), "3.10", IMAGE);
            judged_package(&TORCH, &[], &place, release("deepspeed", deepspeed))
        };
        assert!(matches!(on("1.13.1", "0.19.8"), Judgement::Fails(says) if says.contains("requires torch")));
        assert_eq!(on("1.13.1", "0.9.5"), Judgement::Holds);
    }

    #[test]
    fn of_each_other() {
        let place = place(("2.5.1", "cu124"), "3.12", IMAGE);
        let (old, new) = (release("deepspeed", "0.9.5"), release("deepspeed", "0.16.4"));
        let pydantic = |major: &str| {
            let package = World::get().package("pydantic").unwrap();
            package.releases.iter().find(|one| one.text.starts_with(major)).unwrap()
        };
        for (one, major, holds) in
            [(old, "1.", true), (old, "2.", false), (new, "2.", true), (new, "1.", false)]
        {
            let says = judged_pair(&PACKAGES, &place, one, pydantic(major));
            assert_eq!(says, judged_pair(&PACKAGES, &place, pydantic(major), one));
            assert_eq!(says == Judgement::Holds, holds, "{} {major}: {says:?}", one.name());
        }
    }
}
