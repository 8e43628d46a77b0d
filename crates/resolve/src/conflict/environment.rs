//! Why none of the Pythons and base images that the requirements leave will do.

use std::collections::BTreeSet;

use pep440_rs::Version;

use super::super::constraint::Judge;
use super::super::constraints::{CONSTRAINTS, architecture, compiler, python_wheel, requested};
use super::super::criteria::Criteria;
use super::super::message::{Names, Phrase, wheels as no_wheel};
use super::super::outcome::Reason;
use super::super::request::Base as RequestedBase;
use super::super::universe::{Base, Build, Python, Universe, series};
use super::super::verdict::{Candidate, Judgement, Reason as Refused};
use super::build_names::{cudas, distinct, names, phrase, releases};
use super::ranges::ranges;
use super::stage::{Stage, essential, grouped};
use diagnostic::words::and;

/// No Python has the required version.
pub(super) fn no_python(criteria: &Criteria) -> Reason {
    let texts = distinct(criteria.python.iter().map(|requirement| requirement.text.as_str()));
    Reason { constraint: requested::PYTHON.id.into(), message: format!("no Python is {}", and(&texts)) }
}

/// Why the constraints refuse Pythons.
pub(super) fn python_reasons(
    universe: &Universe,
    criteria: &Criteria,
    stage: &Stage<(&Build, &Python)>,
) -> Vec<Reason> {
    let mut all: Vec<Reason> = Vec::new();
    for constraint in CONSTRAINTS {
        let Judge::Python(judge) = constraint.judge else { continue };
        let refused: Vec<Refused> =
            stage.refused.iter().filter(|refused| refused.constraint == constraint.id).cloned().collect();
        let does = |build: &Build, python: &Python| {
            judge(criteria, build, python) == Judgement::Holds
                && !matches!(architecture::torch(criteria, build, python), Judgement::Fails(_))
        };
        let of_image =
            builds_of(&refused.iter().collect::<Vec<_>>()).iter().any(|build| build.image.is_some());
        let message: Vec<String> = if constraint.id == python_wheel::CONSTRAINT.id && !of_image {
            let on = match criteria.architecture() {
                "x86_64" => String::new(),
                other => format!("; these are the wheels for {other}"),
            };
            wheels(universe, &refused, does).into_iter().map(|message| message + &on).collect()
        } else {
            let mut each: Vec<String> = Vec::new();
            for sentence in refused.iter().map(Refused::sentence) {
                if !each.contains(&sentence) {
                    each.push(sentence);
                }
            }
            each
        };
        all.extend(
            message.into_iter().map(|message| Reason { constraint: constraint.id.to_owned(), message }),
        );
    }
    all
}

fn builds_of<'u>(refused: &[&Refused<'u>]) -> Vec<&'u Build> {
    refused.iter().filter_map(|refused| refused.candidate.build).collect()
}

/// `torch 2.1.0 to 2.1.2 have no wheel for Python 3.12, only for 3.8 to 3.11; the first torch with one is
/// 2.2.0`.
fn wheels(universe: &Universe, refused: &[Refused], does: impl Fn(&Build, &Python) -> bool) -> Vec<String> {
    let by_python =
        grouped(refused, |refused| refused.candidate.python.map_or("", |python| python.text.as_str()));
    // Pythons that are refused for the same releases go into one sentence.
    let sentences = grouped(&by_python, |(_, refused)| releases(universe, &builds_of(refused)));
    let texts: Vec<&str> = universe.pythons.iter().map(|python| python.text.as_str()).collect();
    let write = |(_, group): (String, Vec<&(&str, Vec<&Refused>)>)| {
        let (_, refused) = group.first()?;
        let builds = builds_of(refused);
        let pythons = ranges(&texts, |one| group.iter().any(|(python, _)| *python == one));
        let has = |python: &Python| builds.iter().any(|build| does(build, python));
        let wheels: Vec<&str> =
            universe.pythons.iter().filter(|python| has(python)).map(|python| python.text.as_str()).collect();
        let only = ranges(&texts, |one| wheels.contains(&one));
        let python = refused.first()?.candidate.python?;
        let same = other_builds(universe, &builds, |build| does(build, python));
        // Another build of these releases has a wheel: the release alone would be blamed wrongly.
        let (name, instead) = match same.is_empty() {
            true => (releases(universe, &builds), first_after(universe, refused, &does)),
            false => (
                self::names(universe, &builds),
                format!("; the builds for CUDA {} have one", and(&cudas(&same))),
            ),
        };
        let names = Names::of(&Candidate::default()).with_build(phrase(&builds, name));
        Some(format!("{}{instead}", no_wheel(&[pythons.as_str()], &only).sentence(&names)))
    };
    sentences.into_iter().filter_map(write).collect()
}

/// The other builds of the same releases that have a wheel.
fn other_builds<'u>(
    universe: &'u Universe,
    builds: &[&Build],
    has: impl Fn(&Build) -> bool,
) -> Vec<&'u Build> {
    let same_release = |one: &&Build| builds.iter().any(|build| build.version == one.version);
    let refused = |one: &Build| builds.iter().any(|build| std::ptr::eq(*build, one));
    let all = builds.first().map_or(&[][..], |build| universe.same_kind(build));
    all.iter().filter(same_release).filter(|one| !refused(one) && has(one)).collect()
}

/// The first release after those refused, or the last before them, that has a wheel for the same Python. Of
/// the torch of images there is no other.
fn first_after(universe: &Universe, refused: &[&Refused], does: impl Fn(&Build, &Python) -> bool) -> String {
    let Some(python) = refused.first().and_then(|refused| refused.candidate.python) else {
        return String::new();
    };
    let builds = builds_of(refused);
    if builds.iter().any(|build| build.image.is_some()) {
        return String::new();
    }
    let newest = builds.iter().map(|build| &build.version).max();
    let oldest = builds.iter().map(|build| &build.version).min();
    let all = builds.first().map_or(&[][..], |build| universe.same_kind(build));
    let with: Vec<&Build> = all.iter().filter(|build| does(build, python)).collect();
    let after = with.iter().filter(|build| newest.is_some_and(|newest| build.version > *newest));
    let before = with.iter().filter(|build| oldest.is_some_and(|oldest| build.version < *oldest));
    if let Some(first) = after.min_by_key(|build| &build.version) {
        return format!("; the first torch with one is {}", first.release.version);
    }
    if let Some(last) = before.max_by_key(|build| &build.version) {
        return format!("; the last torch with one is {}", last.release.version);
    }
    String::new()
}

/// No base image is the required one.
pub(super) fn no_base(universe: &Universe, criteria: &Criteria, candidates: &[(&Build, &Python)]) -> Reason {
    let builds: Vec<&Build> = candidates.iter().map(|(build, _)| *build).collect();
    let mut images: Vec<String> =
        criteria.bases.iter().filter_map(|base| what_it_is(universe, base)).collect();
    images.dedup();
    let cudas = super::build_names::cudas(&builds);
    let message = if !images.is_empty() {
        and(&images)
    } else if let ([RequestedBase::Repository(name)], false) =
        (&criteria.bases[..], criteria.systems.is_empty())
    {
        let systems = systems_of(universe.bases(name).iter());
        format!("{name} has no image for {}, only for {}", and(&criteria.systems), and(&systems))
    } else if criteria.systems.is_empty() {
        let names: Vec<String> = criteria.bases.iter().map(|base| requested(base)).collect();
        format!("the catalog has no image {}", and(&names))
    } else {
        let every = cudas.len()
            == super::build_names::cudas(&universe.candidates(criteria).iter().collect::<Vec<_>>()).len();
        let of_cuda = match every || cudas.is_empty() {
            true => String::new(),
            false => format!(" for CUDA {}", and(&cudas)),
        };
        let minor = |cuda: &Version| cudas.iter().any(|one| cuda.to_string().starts_with(&format!("{one}.")));
        let images = universe.bases("nvidia/cuda").iter();
        let systems = systems_of(images.filter(|base| base.cuda.as_ref().is_some_and(minor)));
        format!("no image{of_cuda} is {}; there are images for {}", and(&criteria.systems), and(&systems))
    };
    Reason { constraint: requested::BASE.id.into(), message }
}

fn systems_of<'a>(images: impl Iterator<Item = &'a Base>) -> Vec<String> {
    let names = images.filter_map(|base| base.system.map(|system| system.id.clone()));
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// `nvidia/cuda:12.1.1-devel-ubuntu22.04 is Ubuntu 22.04 with CUDA 12.1.1`.
fn what_it_is(universe: &Universe, base: &RequestedBase) -> Option<String> {
    let RequestedBase::Image(reference) = base else { return None };
    let bases = universe.bases(&reference.repository);
    let found = bases.iter().find(|one| one.image.is_some_and(|image| reference.names(image)))?;
    let Some(system) = found.system else {
        return Some(format!("which system {reference} has is not known"));
    };
    let cuda = found.cuda.as_ref().map_or(String::new(), |cuda| format!(" with CUDA {cuda}"));
    Some(format!("{reference} is {}{cuda}", system.name))
}

fn requested(base: &RequestedBase) -> String {
    match base {
        RequestedBase::Repository(name) => name.clone(),
        RequestedBase::Image(reference) => reference.to_string(),
        RequestedBase::None => "no image at all".to_owned(),
    }
}

/// More CUDA releases than this are no requirement for one.
const CUDAS: usize = 2;

/// Why nothing can be compiled on the required systems: no image has the nvcc, and where its gcc is one that
/// the nvcc does not accept there will be none.
pub(super) fn no_nvcc(
    universe: &Universe,
    criteria: &Criteria,
    candidates: &[(&Build, &Python)],
) -> Vec<Reason> {
    let mut cudas: Vec<&Version> = candidates.iter().filter_map(|(build, _)| build.cuda_version()).collect();
    cudas.sort();
    cudas.dedup();
    if !criteria.compile || !criteria.bases.is_empty() || cudas.len() > CUDAS {
        return Vec::new();
    }
    let systems = criteria.systems.iter().filter_map(|id| universe.catalog.systems().system(id));
    let mut all = Vec::new();
    for (system, cuda) in systems.flat_map(|system| cudas.iter().map(move |cuda| (system, *cuda))) {
        let of_system = |base: &&Base| {
            base.has_nvcc() == Some(true) && base.system.is_some_and(|other| other.id == system.id)
        };
        let mut there: Vec<&Version> = universe
            .bases("nvidia/cuda")
            .iter()
            .filter(of_system)
            .filter_map(|base| base.cuda.as_ref())
            .collect();
        there.sort();
        if there.iter().any(|one| series(one) == series(cuda)) {
            continue;
        }
        let newest = candidates
            .iter()
            .filter_map(|(build, _)| build.cuda())
            .filter(|one| one.version == *cuda)
            .find_map(|one| one.toolkits.last());
        let nvcc = newest.unwrap_or(cuda).to_string();
        if let Judgement::Fails(refusal) = compiler::accepts(universe.catalog, &nvcc, system) {
            let names = Names::of(&Candidate::default());
            let message = refusal.clause(&names).sentence(&names);
            all.push(Reason { constraint: compiler::CONSTRAINT.id.into(), message });
        }
        let only = match (there.first(), there.last()) {
            (Some(first), Some(last)) => format!(", only for CUDA {first} to {last}"),
            _ => String::new(),
        };
        let message =
            format!("nvidia/cuda has no image with the nvcc of CUDA {cuda} for {}{only}", system.name);
        all.push(Reason { constraint: requested::BASE.id.into(), message });
    }
    all
}

/// Why the constraints refuse base images: images that are refused alike in one sentence. Where any torch
/// will do, one that has no image is not worth a sentence.
pub(super) fn base_reasons(universe: &Universe, stage: &Stage<&Base>, torch_matters: bool) -> Vec<Reason> {
    if !torch_matters {
        return Vec::new();
    }
    let refused = essential(&stage.refused);
    let write = |(_, group): (_, Vec<&Refused>)| {
        let first = group.first()?;
        let builds = builds_of(&group);
        let cudas = super::build_names::cudas(&builds);
        let mut images: Vec<String> =
            group.iter().filter_map(|refused| refused.candidate.base.map(Base::name)).collect();
        images.sort();
        images.dedup();
        let image = match &images[..] {
            [one] => one.clone(),
            several => format!("each of {} images", several.len()),
        };
        let torch = phrase(&builds, releases(universe, &builds));
        let names = Names {
            build: torch.clone(),
            torch,
            cuda: Phrase::counted(and(&cudas), cudas.len()),
            base: Phrase::one(image),
            ..Names::of(&first.candidate)
        };
        let message = first.objection.clause(&names).sentence(&names);
        Some(Reason { constraint: first.constraint.to_owned(), message })
    };
    let key = |refused: &Refused| (refused.constraint, refused.objection.clone());
    grouped(&refused, key).into_iter().filter_map(write).take(SENTENCES).collect()
}

/// Limit of sentences of one kind.
const SENTENCES: usize = 5;
