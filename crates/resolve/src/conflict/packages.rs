//! Why none of the package releases that the requirements leave will do.

use std::collections::BTreeSet;

use super::super::criteria::Criteria;
use super::super::message::{Names, Phrase};
use super::super::outcome::Reason;
use super::super::search::Trace;
use super::super::universe::{Build, Release, Universe};
use super::super::verdict::{Candidate, Refusal};
use super::builds::{cudas, distinct, phrase, releases};
use super::ranges::ranges;
use super::reasons::{ASKED_FOR, grouped, needed};
use diagnostic::words::and;

/// Limit of sentences.
const SENTENCES: usize = 6;

/// A release that the search refused.
struct Refused<'a> {
    release: &'a Release,
    /// The build with which it was refused.
    build: Option<&'a Build>,
    /// Which refusal of the search it is: one release may be refused for one reason here and for another one
    /// there.
    index: usize,
    constraint: &'static str,
    refusal: &'a Refusal,
}

/// Why the constraints refuse releases, those of requested packages first.
pub(super) fn reasons(universe: &Universe, criteria: &Criteria, trace: &Trace) -> Vec<Reason> {
    if let Some(reason) = contradiction(universe, criteria) {
        return vec![reason];
    }
    let mut refused: Vec<Refused> = Vec::new();
    for (index, rejected) in trace.rejected.iter().enumerate() {
        let left_out = rejected.reasons.iter().any(|reason| ASKED_FOR.contains(&reason.constraint));
        let Some(release) = rejected.candidate.release.filter(|_| !left_out) else { continue };
        refused.extend(rejected.reasons.iter().filter_map(|reason| {
            let (build, constraint) = (rejected.candidate.build, reason.constraint);
            Some(Refused { release, build, index, constraint, refusal: reason.refusal()? })
        }));
    }
    let packages = distinct(refused.iter().map(|one| one.release.package));
    let essential: Vec<(&str, &str)> = packages.iter().flat_map(|name| constraints(name, &refused)).collect();
    refused.retain(|one| essential.contains(&(one.release.package, one.constraint)));
    // What sets two requirements against each other says it all. Sorting is stable: within each kind the
    // order of the search stays.
    refused
        .sort_by_key(|one| (criteria.package(one.release.package).is_empty(), !names_another(criteria, one)));
    let key = |one: &Refused| (one.constraint, one.release.package, one.refusal.without_details());
    grouped(&refused, key).iter().filter_map(|(_, group)| sentence(universe, group)).take(SENTENCES).collect()
}

/// Whether a refusal of a package is about another requested one.
fn names_another(criteria: &Criteria, one: &Refused) -> bool {
    one.refusal.other_parts().into_iter().any(|name| match name {
        "torch" => !criteria.torch.is_empty(),
        name => name != one.release.package && criteria.packages.contains_key(name),
    })
}

/// The constraints that are enough to refuse all releases of a package that were refused.
fn constraints<'a>(package: &'a str, refused: &[Refused<'a>]) -> Vec<(&'a str, &'a str)> {
    let of = |ids: Option<&[&str]>| -> BTreeSet<usize> {
        let kept = refused.iter().filter(|one| one.release.package == package);
        kept.filter(|one| ids.is_none_or(|ids| ids.contains(&one.constraint))).map(|one| one.index).collect()
    };
    let all = of(None).len();
    let ids = refused.iter().filter(|one| one.release.package == package).map(|one| one.constraint);
    needed(ids, |ids| of(Some(ids)).len() == all).into_iter().map(|id| (package, id)).collect()
}

/// Wishes for one package that no release meets.
fn contradiction(universe: &Universe, criteria: &Criteria) -> Option<Reason> {
    criteria.packages.iter().find_map(|(name, requirements)| {
        let package = universe.package(name)?;
        let met = package
            .releases
            .iter()
            .any(|one| requirements.iter().all(|requirement| requirement.contain(&one.version)));
        let texts: Vec<&str> = requirements.iter().map(|requirement| requirement.text.as_str()).collect();
        (!met).then(|| Reason {
            constraint: "package-asked-for".into(),
            message: format!("no {name} in the catalog is {} at once", and(&texts)),
        })
    })
}

fn sentence(universe: &Universe, group: &[&Refused]) -> Option<Reason> {
    let first = group.first()?;
    let package = first.release.package;
    let mut versions: Vec<&str> =
        universe.package(package)?.releases.iter().map(|release| release.text.as_str()).collect();
    versions.reverse();
    let refused = |version: &str| group.iter().any(|refused| refused.release.text == version);
    let count = versions.iter().filter(|version| refused(version)).count();
    let builds: Vec<&Build> = group.iter().filter_map(|one| one.build).collect();
    let cudas = cudas(&builds);
    let candidate = Candidate { build: first.build, release: Some(first.release), ..Candidate::default() };
    let torch = phrase(&builds, releases(universe, &builds));
    let names = Names {
        build: torch.clone(),
        torch,
        cuda: Phrase::counted(and(&cudas), cudas.len()),
        release: Phrase::counted(format!("{package} {}", ranges(&versions, refused)), count),
        ..Names::of(&candidate)
    };
    Some(Reason {
        constraint: first.constraint.to_owned(),
        message: first.refusal.clause(&names).sentence(&names),
    })
}
