//! Why none of the package releases that the requirements leave will do.

use std::collections::BTreeSet;

use super::super::constraints::{flash_attn, incompatible, requested, requirement_wheels};
use super::super::criteria::Criteria;
use super::super::message::{Names, Phrase};
use super::super::outcome::Reason;
use super::super::request::Request;
use super::super::search::Trace;
use super::super::universe::{Build, Universe};
use super::super::verdict::{Candidate, PackageRefusal, Refusal};
use super::build_names::{cudas, phrase, releases};
use super::from_source;
use super::ranges::ranges;
use super::refused_release::{Refused, WHEEL, names};
use super::stage::{ASKED_FOR, grouped, needed};
use diagnostic::words::and;

/// Limit of sentences.
const SENTENCES: usize = 6;

/// Constraints on packages that may fail because of the Python alone.
const OF_PYTHON: &[&str] =
    &[WHEEL, requirement_wheels::PYTHON.id, flash_attn::PYTHON.id, incompatible::PYTHON.id];

/// Why no release of the packages will do.
pub(super) struct Reasons {
    pub(super) all: Vec<Reason>,
    /// Whether some of them may be because of the Python alone.
    pub(super) of_python: bool,
}

/// A release without any wheel has none for any Python.
fn is_of_python(one: &Refused) -> bool {
    OF_PYTHON.contains(&one.constraint)
        && !matches!(one.refusal, Refusal::Package(PackageRefusal::NotCompiled))
}

/// Why the constraints refuse releases, those of requested packages first.
pub(super) fn reasons(universe: &Universe, whole: &Request, criteria: &Criteria, trace: &Trace) -> Reasons {
    if let Some(reason) = contradiction(universe, criteria) {
        return Reasons { all: vec![reason], of_python: false };
    }
    let mut refused = refused_by(trace);
    if let Some(package) = refused_by_others(criteria, &refused) {
        refused.retain(|one| one.release.package == package && names_another(criteria, one));
    }
    let packages = names(refused.iter());
    let essential: Vec<(&str, &str)> = packages.iter().flat_map(|name| constraints(name, &refused)).collect();
    refused.retain(|one| essential.contains(&(one.release.package, one.constraint)));
    let compiled = from_source::helps(universe, whole, &refused);
    // What sets two requirements against each other says it all, unless compiling is a way out. Sorting is
    // stable: within each kind the order of the search stays.
    refused.sort_by_key(|one| {
        let way_out = compiled == Some(true) && one.refusal.is_resolved_by_compiling();
        let requested = !criteria.package(one.release.package).is_empty();
        (!requested, !way_out, !names_another(criteria, one))
    });
    let key = |one: &Refused| (one.constraint, one.release.package, one.refusal.without_details());
    let groups = grouped(&refused, key);
    let reported = &groups[..groups.len().min(SENTENCES)];
    let sentences = reported.iter().filter_map(|(_, group)| sentence(universe, group));
    let none = (compiled == Some(false) && !lacks_python(criteria, &refused))
        .then(|| from_source::no_release_fits(&refused));
    Reasons {
        all: none.into_iter().chain(sentences).collect(),
        of_python: reported.iter().flat_map(|(_, group)| group.iter()).any(|one| is_of_python(one)),
    }
}

/// Whether releases of a package that was not requested have wheels, but none for the Python: then those
/// without any are no cause.
fn lacks_python(criteria: &Criteria, refused: &[Refused]) -> bool {
    refused.iter().any(|one| {
        matches!(one.refusal, Refusal::Package(PackageRefusal::NoWheelForPython { .. }))
            && !criteria.packages.contains_key(one.release.package)
    })
}

fn refused_by<'a>(trace: &'a Trace) -> Vec<Refused<'a>> {
    let mut refused: Vec<Refused> = Vec::new();
    for (index, rejected) in trace.rejected.iter().enumerate() {
        let left_out = rejected.reasons.iter().any(|reason| ASKED_FOR.contains(&reason.constraint));
        let Some(release) = rejected.candidate.release.filter(|_| !left_out) else { continue };
        refused.extend(rejected.reasons.iter().filter_map(|reason| {
            let (build, constraint) = (rejected.candidate.build, reason.constraint);
            Some(Refused { release, build, index, constraint, refusal: reason.refusal()? })
        }));
    }
    refused
}

/// Whether a refusal of a package is about another requested one.
fn names_another(criteria: &Criteria, one: &Refused) -> bool {
    one.refusal.other_parts().into_iter().any(|name| match name {
        "torch" => !criteria.torch.is_empty(),
        name => name != one.release.package && criteria.packages.contains_key(name),
    })
}

/// A requested package of which every release that is left is refused because of another requested one: what
/// else refuses some of its releases, or other packages, is no cause.
fn refused_by_others<'a>(criteria: &Criteria, refused: &[Refused<'a>]) -> Option<&'a str> {
    let because_of_another = |one: &Refused| {
        let same = |other: &&Refused| std::ptr::eq(other.release, one.release);
        refused.iter().filter(same).any(|other| names_another(criteria, other))
    };
    names(refused.iter())
        .into_iter()
        .filter(|name| criteria.packages.contains_key(name))
        .find(|name| refused.iter().filter(|one| one.release.package == *name).all(because_of_another))
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

/// Requirements on one package that no release meets.
fn contradiction(universe: &Universe, criteria: &Criteria) -> Option<Reason> {
    criteria.packages.iter().find_map(|(name, requirements)| {
        let package = universe.package(name)?;
        let met = package
            .releases
            .iter()
            .any(|one| requirements.iter().all(|requirement| requirement.contain(&one.version)));
        let texts: Vec<&str> = requirements.iter().map(|requirement| requirement.text.as_str()).collect();
        (!met).then(|| Reason {
            constraint: requested::PACKAGE.id.into(),
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
