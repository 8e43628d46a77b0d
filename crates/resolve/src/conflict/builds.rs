//! Why none of the torch builds that the wishes leave will do.

use pep440_rs::Version;

use super::super::answer::Reason;
use super::super::constraint::{Constraint, Judge};
use super::super::constraints::CONSTRAINTS;
use super::super::constraints::asked_for::cuda_within;
use super::super::constraints::partners;
use super::super::message::{Names, Phrase, kernels_for};
use super::super::request::{Request, Versions, Want, Wish};
use super::super::verdict::{Candidate, Capability, Forward, Judgement, Reason as Refused, Refusal};
use super::super::wanted::Wanted;
use super::super::world::{Build, World};
use super::ranges::{ranges, verb};
use super::reasons::{Stage, essential, grouped};
use crate::parameter::Source;
use diagnostic::words::{self, and};

/// No build is of the wished torch and the wished CUDA.
pub(super) fn none_left(world: &World, wanted: &Wanted) -> Reason {
    let of_torch: Vec<&Build> = world
        .candidates(wanted)
        .iter()
        .filter(|build| {
            wanted.torch.iter().all(|wish| {
                wish.contain(&build.version)
                    && wish.build.as_deref().is_none_or(|name| name == build.build.build)
            })
        })
        .collect();
    let of_cuda: Vec<&Build> = world
        .candidates(wanted)
        .iter()
        .filter(|build| wanted.cuda.iter().all(|wish| cuda_within(wish, build)))
        .collect();
    let says = if world.candidates(wanted).iter().any(|build| build.image.is_some()) {
        no_image(world, wanted, of_torch.is_empty())
    } else if of_torch.is_empty() {
        format!("no torch is {}", both(&wanted.torch))
    } else if of_cuda.is_empty() {
        format!("no torch build is for a CUDA that is {}", both(&wanted.cuda))
    } else {
        let named = match &wanted.torch[..] {
            [one] if one.build.is_some() => names(world, &of_torch),
            _ => releases(world, &of_torch),
        };
        let count = distinct(of_torch.iter().map(|build| build.release.version.as_str())).len();
        let known = if of_torch.iter().all(|build| build.release.builds_complete) {
            ""
        } else {
            ", as far as is known"
        };
        format!(
            "{named} {} built for CUDA {}{known}; builds for CUDA {} exist for {}",
            verb(count, "was", "were"),
            and(&cudas(&of_torch)),
            and(&distinct(wanted.cuda.iter().map(|wish| wish.text.as_str()))),
            releases(world, &of_cuda),
        )
    };
    Reason { constraint: "torch-asked-for".into(), says }
}

/// None of NVIDIA's images has the wished torch and the wished CUDA.
fn no_image(world: &World, wanted: &Wanted, no_torch: bool) -> String {
    let all: Vec<&Build> = world.candidates(wanted).iter().collect();
    let cuda = wanted.cuda.iter().map(|wish| format!("CUDA {}", wish.text));
    let torch = wanted.torch.iter().map(|wish| format!("torch {}", wish.text));
    let wishes: Vec<String> = torch.chain(cuda).collect();
    let has = match no_torch {
        true => format!("torch {}", and(&distinct(all.iter().map(|build| build.release.version.as_str())))),
        false => format!("CUDA {}", and(&cudas(&all))),
    };
    format!(
        "of NVIDIA's images of which it is known what is in them none has {}; they have {has}",
        words::and(&wishes)
    )
}

fn both(wishes: &[&Versions]) -> String {
    let texts = distinct(wishes.iter().map(|wish| wish.text.as_str()));
    let word = if texts.len() == 2 { "both " } else { "" };
    format!("{word}{}", and(&texts))
}

/// Why the constraints refuse builds.
pub(super) fn reasons(world: &World, wanted: &Wanted, stage: &Stage<&Build>) -> Vec<Reason> {
    let refused = essential(&stage.refused);
    let of = |constraint: &Constraint| {
        let refused: Vec<&Refused> =
            refused.iter().filter(|refused| refused.constraint == constraint.id).collect();
        let Judge::Build(judge) = constraint.judge else { return Vec::new() };
        let report = Report { world, wanted, stage, judge };
        let reason = |(_, group): (_, Vec<&&Refused>)| {
            Some(Reason { constraint: constraint.id.to_owned(), says: report.sentence(&group)? })
        };
        grouped(&refused, |one| key(one)).into_iter().filter_map(reason).collect()
    };
    CONSTRAINTS.iter().flat_map(of).collect()
}

/// What builds that are refused alike have in common.
fn key(refused: &Refused) -> Option<Refusal> {
    let mut refusal = refused.refusal()?.without_details();
    // Each torch has its own partner.
    if let Refusal::PartnerMismatch { needs, .. } = &mut refusal {
        *needs = Version::new([0]);
    }
    Some(refusal)
}

type JudgeBuild = fn(&Wanted, &Build) -> Judgement;

/// Forms the sentences on the builds that one constraint refuses.
struct Report<'r, 'w> {
    world: &'w World,
    wanted: &'r Wanted<'r>,
    stage: &'r Stage<'w, &'w Build>,
    judge: JudgeBuild,
}

impl Report<'_, '_> {
    fn sentence(&self, group: &[&&Refused]) -> Option<String> {
        let first = group.first()?;
        let builds: Vec<&Build> = group.iter().filter_map(|refused| refused.candidate.build).collect();
        match first.refusal()? {
            Refusal::NoKernels { gpu, capability, .. } => Some(self.kernels(gpu, *capability, &builds)),
            Refusal::DriverTooOld { needs, has, .. } => {
                let refusal =
                    Refusal::DriverTooOld { needs, has: *has, forward: self.forward(group, &builds)? };
                Some(self.driver(&refusal, &builds))
            }
            Refusal::PtxOnly { .. } => Some(self.driver(first.refusal()?, &builds)),
            Refusal::PartnerMismatch { partner, wish, .. } => self.partner(partner, wish, group, &builds),
            refusal => Some(self.plain(&refusal.without_details(), &builds)),
        }
    }

    /// The message about several builds at once.
    fn plain(&self, refusal: &Refusal, builds: &[&Build]) -> String {
        let names = names_of(self.world, self.wanted, builds);
        refusal.clause(&names).sentence(&names)
    }

    /// The builds on which the constraint has nothing to say.
    fn holding(&self, wanted: &Wanted) -> Vec<&Build> {
        let all = self.world.candidates(self.wanted).iter();
        all.filter(|build| (self.judge)(wanted, build) == Judgement::Holds).collect()
    }

    /// `torch 2.5.0 and 2.5.1 need torchvision 0.20.0 to 0.20.1; torchvision 0.21 needs torch 2.6.0`.
    fn partner(&self, partner: &str, wish: &str, group: &[&&Refused], builds: &[&Build]) -> Option<String> {
        let releases_of = distinct(builds.iter().map(|build| build.release.version.as_str()));
        if let [_] = releases_of[..] {
            return Some(self.plain(group.first()?.refusal()?, builds));
        }
        let mut versions: Vec<&Version> = group
            .iter()
            .filter_map(|refused| match refused.refusal()? {
                Refusal::PartnerMismatch { needs, .. } => Some(needs),
                _ => None,
            })
            .collect();
        versions.sort();
        versions.dedup();
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let candidates = self.world.candidates(self.wanted).iter();
        let having: Vec<&Build> = candidates
            .filter(|build| partners::of(partner, self.wanted, build) == Judgement::Holds)
            .collect();
        let wished = match &having[..] {
            [] => format!("{partner} {wish} was requested"),
            having => format!("{partner} {wish} needs {}", releases(self.world, having)),
        };
        Some(format!("{} need {partner} {}; {wished}", releases(self.world, builds), words::span(&versions)))
    }

    /// `torch 2.5.0 and 2.5.1 have no kernels for the B200 (sm_100); the first torch that has them is 2.7.0
    /// (cu128)`.
    fn kernels(&self, gpu: &str, capability: Capability, builds: &[&Build]) -> String {
        let wish = self.wanted.gpus.iter().find(|one| one.name == gpu);
        let wish = wish.map(|gpu| Wish { source: Source::Trial, want: Want::Gpu((*gpu).clone()) });
        let alone = Request { wishes: wish.into_iter().collect(), ..Request::default() };
        let having = self.holding(&Wanted::of(self.world.catalog, &alone));
        if self.wanted.torch.is_empty() && self.wanted.cuda.is_empty() && !having.is_empty() {
            return format!(
                "only builds of {} for CUDA {} have {}",
                releases(self.world, &having),
                and(&cudas(&having)),
                kernels_for(gpu, capability)
            );
        }
        let instead = alternatives(self.stage, &having, ("have them", "has them"));
        let none = if having.is_empty() { "; no build in the catalog is known to have them" } else { "" };
        let refusal = Refusal::NoKernels { gpu: gpu.to_owned(), capability, has: Vec::new() };
        format!("{}{instead}{none}", self.plain(&refusal, builds))
    }

    /// `torch 2.15.0 was built for CUDA 13.2; CUDA 13.2 needs driver 580 …; the last torch that runs on it is
    /// 2.7.1 (cu118)`.
    fn driver(&self, refusal: &Refusal, builds: &[&Build]) -> String {
        let built = match self.wanted.torch.is_empty() {
            true => String::new(),
            false => {
                let torch = phrase(builds, releases(self.world, builds));
                format!(
                    "{} {} built for CUDA {}; ",
                    torch.text,
                    torch.verb(("was", "were")),
                    and(&cudas(builds))
                )
            }
        };
        let instead = match self.wanted.torch.is_empty() && self.wanted.cuda.is_empty() {
            true => String::new(),
            false => {
                let running = self.holding(self.wanted);
                alternatives(self.stage, &running, ("run with this driver", "runs with this driver"))
            }
        };
        format!("{built}{}{instead}", self.plain(refusal, builds))
    }

    /// Why forward compatibility does not help any of these builds.
    fn forward(&self, group: &[&&Refused], builds: &[&Build]) -> Option<Forward> {
        let mut reasons: Vec<&Forward> = Vec::new();
        for refused in group {
            if let Some(Refusal::DriverTooOld { forward, .. }) = refused.refusal()
                && !reasons.contains(&forward)
            {
                reasons.push(forward);
            }
        }
        match reasons[..] {
            [Forward::NoGpuNamed] => Some(self.forward_on_other_gpus(builds)),
            [one] => Some(one.clone()),
            [_, ..] => Some(Forward::OtherDrivers { several: true }),
            [] => None,
        }
    }

    /// Whether naming a GPU would help.
    fn forward_on_other_gpus(&self, builds: &[&Build]) -> Forward {
        let for_driver = |build: &&Build| {
            let row = self.world.catalog.cuda().forward(&build.cuda_text())?;
            Some(self.wanted.drivers.iter().all(|driver| row.driver_branches.contains(&driver.branch)))
        };
        let known: Vec<Option<bool>> = builds.iter().map(for_driver).collect();
        if known.iter().all(|one| *one == Some(false)) {
            Forward::OtherDrivers { several: cudas(builds).len() != 1 }
        } else if known.contains(&Some(true)) {
            Forward::OnDataCentreGpus
        } else {
            Forward::NoGpuNamed
        }
    }
}

/// What a message about several builds calls them.
fn names_of(world: &World, wanted: &Wanted, builds: &[&Build]) -> Names {
    let first = Candidate { build: builds.first().copied(), ..Candidate::default() };
    let text = if wanted.cuda.is_empty() { releases(world, builds) } else { names(world, builds) };
    let cudas = cudas(builds);
    Names {
        build: phrase(builds, text),
        torch: phrase(builds, releases(world, builds)),
        cuda: Phrase::counted(and(&cudas), cudas.len()),
        ..Names::of(&first)
    }
}

/// A name of builds with the number of their releases.
pub(super) fn phrase(builds: &[&Build], text: String) -> Phrase {
    Phrase::counted(text, distinct(builds.iter().map(|build| build.release.version.as_str())).len())
}

/// What does instead: other builds of the same releases, or the first or last release that does.
fn alternatives(stage: &Stage<&Build>, all: &[&Build], (do_so, does_so): (&str, &str)) -> String {
    let left = |build: &&&Build| stage.left.iter().any(|one| one.version == build.version);
    let same: Vec<&Build> = all.iter().filter(left).copied().collect();
    if !same.is_empty() {
        return format!("; the builds for CUDA {} {do_so}", and(&cudas(&same)));
    }
    let newest_left = stage.left.iter().map(|build| &build.version).max();
    let oldest_left = stage.left.iter().map(|build| &build.version).min();
    let later = all.iter().filter(|build| newest_left.is_some_and(|newest| build.version > *newest));
    let earlier = all.iter().filter(|build| oldest_left.is_some_and(|oldest| build.version < *oldest));
    let builds_of = |one: &Build| {
        let builds = all.iter().filter(|build| build.version == one.version);
        and(&builds.map(|build| build.build.build.as_str()).collect::<Vec<_>>())
    };
    if let Some(first) = later.min_by_key(|build| &build.version) {
        return format!(
            "; the first torch that {does_so} is {} ({})",
            first.release.version,
            builds_of(first)
        );
    }
    if let Some(last) = earlier.max_by_key(|build| &build.version) {
        return format!("; the last torch that {does_so} is {} ({})", last.release.version, builds_of(last));
    }
    String::new()
}

/// `torch 2.5.0 and 2.5.1`.
pub(super) fn releases(world: &World, builds: &[&Build]) -> String {
    let tags: Vec<&str> =
        builds.iter().filter_map(|build| build.image).map(|image| image.tag.as_str()).collect();
    if !tags.is_empty() {
        return format!("the torch of {}", and(&distinct(tags.into_iter())));
    }
    let all: Vec<&str> = world.catalog.torch().all().iter().map(|row| row.version.as_str()).collect();
    format!("torch {}", ranges(&all, |one| builds.iter().any(|build| build.release.version == one)))
}

/// `torch 2.5.0 and 2.5.1 for CUDA 12.4`.
fn names(world: &World, builds: &[&Build]) -> String {
    format!("{} for CUDA {}", releases(world, builds), and(&cudas(builds)))
}

/// The CUDA releases of builds, oldest first.
pub(super) fn cudas(builds: &[&Build]) -> Vec<String> {
    let mut all: Vec<_> = builds.iter().map(|build| &build.cuda).collect();
    all.sort();
    all.dedup();
    all.iter().map(ToString::to_string).collect()
}

/// Each text once, in the order of the first.
pub(super) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
