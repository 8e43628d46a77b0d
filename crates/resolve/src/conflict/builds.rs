//! Why none of the torch builds that the requirements leave will do.

use pep440_rs::Version;

use super::super::constraint::{Constraint, Judge};
use super::super::constraints::requested::{self, cuda_within};
use super::super::constraints::{CONSTRAINTS, partners};
use super::super::criteria::Criteria;
use super::super::message::{Names, Phrase, kernels_for};
use super::super::outcome::Reason;
use super::super::request::{Request, Versions};
use super::super::universe::{Build, Universe};
use super::super::verdict::BuildRefusal::{DriverTooOld, NoKernels, PartnerMismatch, PtxOnly};
use super::super::verdict::Refusal::{self, Build as Of};
use super::super::verdict::{Candidate, Capability, Forward, Judgement, Partner, Reason as Refused};
use super::build_names::{cudas, distinct, names, phrase, releases};
use super::ranges::verb;
use super::stage::{Stage, essential, grouped};
use diagnostic::words::{self, and};

/// No build has the required torch and CUDA.
pub(super) fn none_left(universe: &Universe, criteria: &Criteria) -> Reason {
    let of_torch: Vec<&Build> = universe
        .candidates(criteria)
        .iter()
        .filter(|build| {
            criteria.torch.iter().all(|requirement| {
                requirement.contain(&build.version)
                    && requirement.build.as_deref().is_none_or(|name| name == build.build.build)
            })
        })
        .collect();
    let of_cuda: Vec<&Build> = universe
        .candidates(criteria)
        .iter()
        .filter(|build| criteria.cuda.iter().all(|requirement| cuda_within(requirement, build)))
        .collect();
    let message = if universe.candidates(criteria).iter().any(|build| build.image.is_some()) {
        no_image(universe, criteria, of_torch.is_empty())
    } else if of_torch.is_empty() {
        format!("no torch is {}", both(&criteria.torch))
    } else if criteria.cpu && !criteria.cuda.is_empty() {
        format!("a CPU build has no CUDA; CUDA {} was requested", both(&criteria.cuda))
    } else if criteria.cpu {
        format!("a CPU build of torch is not {}", both(&criteria.torch))
    } else if of_cuda.is_empty() {
        format!("no torch build is for a CUDA that is {}", both(&criteria.cuda))
    } else {
        let named = match &criteria.torch[..] {
            [one] if one.build.is_some() => names(universe, &of_torch),
            _ => releases(universe, &of_torch),
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
            and(&distinct(criteria.cuda.iter().map(|requirement| requirement.text.as_str()))),
            releases(universe, &of_cuda),
        )
    };
    Reason { constraint: requested::BUILD.id.into(), message }
}

/// None of NVIDIA's images has the required torch and CUDA.
fn no_image(universe: &Universe, criteria: &Criteria, no_torch: bool) -> String {
    let all: Vec<&Build> = universe.candidates(criteria).iter().collect();
    let cpu = criteria.cpu.then(|| "a CPU build of torch".to_owned());
    let cuda = criteria.cuda.iter().map(|requirement| format!("CUDA {}", requirement.text));
    let torch = criteria.torch.iter().map(|requirement| format!("torch {}", requirement.text));
    let requirements: Vec<String> = torch.chain(cuda).chain(cpu).collect();
    let has = match no_torch {
        true => format!("torch {}", and(&distinct(all.iter().map(|build| build.release.version.as_str())))),
        false => format!("CUDA {}", and(&cudas(&all))),
    };
    format!("no NVIDIA image with known contents has {}; they have {has}", words::and(&requirements))
}

fn both(requirements: &[&Versions]) -> String {
    let texts = distinct(requirements.iter().map(|requirement| requirement.text.as_str()));
    let word = if texts.len() == 2 { "both " } else { "" };
    format!("{word}{}", and(&texts))
}

/// Why the constraints refuse builds.
pub(super) fn reasons(universe: &Universe, criteria: &Criteria, stage: &Stage<&Build>) -> Vec<Reason> {
    let refused = essential(&stage.refused);
    let of = |constraint: &Constraint| {
        let refused: Vec<&Refused> =
            refused.iter().filter(|refused| refused.constraint == constraint.id).collect();
        let Judge::Build(judge) = constraint.judge else { return Vec::new() };
        let report = Report { universe, criteria, stage, judge };
        let reason = |(_, group): (_, Vec<&&Refused>)| {
            Some(Reason { constraint: constraint.id.to_owned(), message: report.sentence(&group)? })
        };
        grouped(&refused, |one| key(one)).into_iter().filter_map(reason).collect()
    };
    CONSTRAINTS.iter().flat_map(of).collect()
}

/// What builds that are refused alike have in common.
fn key(refused: &Refused) -> Option<Refusal> {
    let mut refusal = refused.refusal()?.without_details();
    // Each torch has its own partner.
    if let Of(PartnerMismatch { needs, .. }) = &mut refusal {
        *needs = Version::new([0]);
    }
    Some(refusal)
}

type JudgeBuild = fn(&Criteria, &Build) -> Judgement;

/// Forms the sentences on the builds that one constraint refuses.
struct Report<'r, 'u> {
    universe: &'u Universe,
    criteria: &'r Criteria<'r>,
    stage: &'r Stage<'u, &'u Build>,
    judge: JudgeBuild,
}

impl Report<'_, '_> {
    fn sentence(&self, group: &[&&Refused]) -> Option<String> {
        let first = group.first()?;
        let builds: Vec<&Build> = group.iter().filter_map(|refused| refused.candidate.build).collect();
        match first.refusal()? {
            Of(NoKernels { gpu, capability, .. }) => Some(self.kernels(gpu, *capability, &builds)),
            Of(DriverTooOld { needs, has, .. }) => {
                let refusal = Of(DriverTooOld { needs, has: *has, forward: self.forward(group, &builds)? });
                Some(self.driver(&refusal, &builds))
            }
            Of(PtxOnly { .. }) => Some(self.driver(first.refusal()?, &builds)),
            Of(PartnerMismatch { partner, requirement, .. }) => {
                self.partner(*partner, requirement, group, &builds)
            }
            refusal => Some(self.plain(&refusal.without_details(), &builds)),
        }
    }

    /// The message about several builds at once.
    fn plain(&self, refusal: &Refusal, builds: &[&Build]) -> String {
        let names = names_of(self.universe, self.criteria, builds);
        refusal.clause(&names).sentence(&names)
    }

    /// The builds to which the constraint does not object.
    fn holding(&self, criteria: &Criteria) -> Vec<&Build> {
        let all = self.universe.candidates(self.criteria).iter();
        all.filter(|build| (self.judge)(criteria, build) == Judgement::Holds).collect()
    }

    /// `torch 2.5.0 and 2.5.1 need torchvision 0.20.0 to 0.20.1; torchvision 0.21 needs torch 2.6.0`.
    fn partner(
        &self,
        partner: Partner,
        requirement: &str,
        group: &[&&Refused],
        builds: &[&Build],
    ) -> Option<String> {
        let releases_of = distinct(builds.iter().map(|build| build.release.version.as_str()));
        if let [_] = releases_of[..] {
            return Some(self.plain(group.first()?.refusal()?, builds));
        }
        let mut versions: Vec<&Version> = group
            .iter()
            .filter_map(|refused| match refused.refusal()? {
                Of(PartnerMismatch { needs, .. }) => Some(needs),
                _ => None,
            })
            .collect();
        versions.sort();
        versions.dedup();
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let candidates = self.universe.candidates(self.criteria).iter();
        let having: Vec<&Build> = candidates
            .filter(|build| partners::of(partner, self.criteria, build) == Judgement::Holds)
            .collect();
        let requested = match &having[..] {
            [] => format!("{partner} {requirement} was requested"),
            having => format!("{partner} {requirement} needs {}", releases(self.universe, having)),
        };
        Some(format!(
            "{} need {partner} {}; {requested}",
            releases(self.universe, builds),
            words::span(&versions)
        ))
    }

    /// `torch 2.5.0 and 2.5.1 have no kernels for the B200 (sm_100); the first torch that has them is 2.7.0
    /// (cu128)`.
    fn kernels(&self, gpu: &str, capability: Capability, builds: &[&Build]) -> String {
        // Each processor has its own wheels.
        let empty = Request::default();
        let mut alone = Criteria::from_request(self.universe.catalog, &empty);
        alone.gpus.extend(self.criteria.gpus.iter().find(|one| one.name == gpu));
        alone.architectures.push(self.criteria.architecture());
        let having = self.holding(&alone);
        if self.criteria.torch.is_empty() && self.criteria.cuda.is_empty() && !having.is_empty() {
            return format!(
                "only builds of {} for CUDA {} have {}",
                releases(self.universe, &having),
                and(&cudas(&having)),
                kernels_for(gpu, capability)
            );
        }
        let others = alternatives(self.stage, &having, ("have them", "has them"));
        let none = if having.is_empty() { "; no build in the catalog is known to have them" } else { "" };
        let refusal = Of(NoKernels { gpu: gpu.to_owned(), capability, has: Vec::new() });
        format!("{}{others}{none}", self.plain(&refusal, builds))
    }

    /// `torch 2.15.0 was built for CUDA 13.2; CUDA 13.2 needs driver 580 …; the last torch that runs on it is
    /// 2.7.1 (cu118)`.
    fn driver(&self, refusal: &Refusal, builds: &[&Build]) -> String {
        let built = match self.criteria.torch.is_empty() {
            true => String::new(),
            false => {
                let torch = phrase(builds, releases(self.universe, builds));
                format!(
                    "{} {} built for CUDA {}; ",
                    torch.text,
                    torch.verb(("was", "were")),
                    and(&cudas(builds))
                )
            }
        };
        let others = match self.criteria.torch.is_empty() && self.criteria.cuda.is_empty() {
            true => String::new(),
            false => {
                let running = self.holding(self.criteria);
                alternatives(self.stage, &running, ("run with this driver", "runs with this driver"))
            }
        };
        format!("{built}{}{others}", self.plain(refusal, builds))
    }

    /// Why forward compatibility does not help any of these builds.
    fn forward(&self, group: &[&&Refused], builds: &[&Build]) -> Option<Forward> {
        let mut reasons: Vec<&Forward> = Vec::new();
        for refused in group {
            if let Some(Of(DriverTooOld { forward, .. })) = refused.refusal()
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
            let row = self.universe.catalog.cuda().forward(&build.cuda()?.text())?;
            Some(self.criteria.drivers.iter().all(|driver| row.driver_branches.contains(&driver.branch)))
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
fn names_of(universe: &Universe, criteria: &Criteria, builds: &[&Build]) -> Names {
    let first = Candidate { build: builds.first().copied(), ..Candidate::default() };
    let text = match criteria.cuda.is_empty() && !criteria.cpu {
        true => releases(universe, builds),
        false => names(universe, builds),
    };
    let cudas = cudas(builds);
    Names {
        build: phrase(builds, text),
        torch: phrase(builds, releases(universe, builds)),
        cuda: Phrase::counted(and(&cudas), cudas.len()),
        ..Names::of(&first)
    }
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
