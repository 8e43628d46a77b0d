//! Why none of the Pythons and base images that the wishes leave will do.

use std::collections::BTreeSet;

use pep440_rs::Version;

use super::super::answer::Reason;
use super::super::constraint::Judge;
use super::super::constraints::{CONSTRAINTS, compiler};
use super::super::message::{Names, Phrase, wheels as no_wheel};
use super::super::request::Base as Wished;
use super::super::verdict::{Candidate, Judgement, Reason as Refused};
use super::super::wanted::Wanted;
use super::super::world::{Base, Build, Python, World, series};
use super::builds::{distinct, phrase, releases};
use super::ranges::ranges;
use super::reasons::{Stage, essential, grouped};
use diagnostic::words::and;

/// No Python is what was wished.
pub(super) fn no_python(wanted: &Wanted) -> Reason {
    let texts = distinct(wanted.python.iter().map(|wish| wish.text.as_str()));
    Reason { constraint: "python-asked-for".into(), says: format!("no Python is {}", and(&texts)) }
}

/// What the constraints say of the Pythons that they refuse.
pub(super) fn python_reasons(
    world: &World,
    wanted: &Wanted,
    stage: &Stage<(&Build, &Python)>,
) -> Vec<Reason> {
    let mut all: Vec<Reason> = Vec::new();
    for constraint in CONSTRAINTS {
        let Judge::Python(judge) = constraint.judge else { continue };
        let refused: Vec<Refused> =
            stage.refused.iter().filter(|refused| refused.constraint == constraint.id).cloned().collect();
        let does = |build: &Build, python: &Python| judge(wanted, build, python) == Judgement::Holds;
        let of_image =
            builds_of(&refused.iter().collect::<Vec<_>>()).iter().any(|build| build.image.is_some());
        let says: Vec<String> = if constraint.id == "torch-wheel-for-python" && !of_image {
            wheels(world, &refused, does)
        } else {
            let mut each: Vec<String> = Vec::new();
            for sentence in refused.iter().map(Refused::sentence) {
                if !each.contains(&sentence) {
                    each.push(sentence);
                }
            }
            each
        };
        all.extend(says.into_iter().map(|says| Reason { constraint: constraint.id.to_owned(), says }));
    }
    all
}

fn builds_of<'w>(refused: &[&Refused<'w>]) -> Vec<&'w Build> {
    refused.iter().filter_map(|refused| refused.candidate.build).collect()
}

/// `torch 2.1.0 to 2.1.2 have no wheel for Python 3.12, only for 3.8 to 3.11; the first torch with one is
/// 2.2.0`.
fn wheels(world: &World, refused: &[Refused], does: impl Fn(&Build, &Python) -> bool) -> Vec<String> {
    let by_python =
        grouped(refused, |refused| refused.candidate.python.map_or("", |python| python.text.as_str()));
    // Pythons that are refused for the same releases go into one sentence.
    let sentences = grouped(&by_python, |(_, refused)| releases(world, &builds_of(refused)));
    let texts: Vec<&str> = world.pythons.iter().map(|python| python.text.as_str()).collect();
    let write = |(_, group): (String, Vec<&(&str, Vec<&Refused>)>)| {
        let (_, refused) = group.first()?;
        let builds = builds_of(refused);
        let pythons = ranges(&texts, |one| group.iter().any(|(python, _)| *python == one));
        let has = |python: &Python| builds.iter().any(|build| does(build, python));
        let wheels: Vec<&str> =
            world.pythons.iter().filter(|python| has(python)).map(|python| python.text.as_str()).collect();
        let only = ranges(&texts, |one| wheels.contains(&one));
        let first = first_after(world, refused, &does);
        let names = Names::of(&Candidate::default()).with_build(phrase(&builds, releases(world, &builds)));
        Some(format!("{}{first}", no_wheel(&[pythons.as_str()], &only).sentence(&names)))
    };
    sentences.into_iter().filter_map(write).collect()
}

/// The first release after those refused, or the last before them, that has a wheel for the same Python. Of
/// the torch of images there is no other.
fn first_after(world: &World, refused: &[&Refused], does: impl Fn(&Build, &Python) -> bool) -> String {
    let Some(python) = refused.first().and_then(|refused| refused.candidate.python) else {
        return String::new();
    };
    let builds = builds_of(refused);
    if builds.iter().any(|build| build.image.is_some()) {
        return String::new();
    }
    let newest = builds.iter().map(|build| &build.version).max();
    let oldest = builds.iter().map(|build| &build.version).min();
    let with: Vec<&Build> = world.builds.iter().filter(|build| does(build, python)).collect();
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

/// No base image is what was wished.
pub(super) fn no_base(world: &World, wanted: &Wanted, places: &[(&Build, &Python)]) -> Reason {
    let builds: Vec<&Build> = places.iter().map(|(build, _)| *build).collect();
    let mut images: Vec<String> = wanted.bases.iter().filter_map(|base| what_it_is(world, base)).collect();
    images.dedup();
    let cudas = super::builds::cudas(&builds);
    let says = if !images.is_empty() {
        and(&images)
    } else if let ([Wished::Repository(name)], false) = (&wanted.bases[..], wanted.systems.is_empty()) {
        let systems = systems_of(world.bases(name).iter());
        format!("{name} has no image for {}, only for {}", and(&wanted.systems), and(&systems))
    } else if wanted.systems.is_empty() {
        let names: Vec<String> = wanted.bases.iter().map(|base| wished(base)).collect();
        format!("the catalog has no image {}", and(&names))
    } else {
        let every =
            cudas.len() == super::builds::cudas(&world.candidates(wanted).iter().collect::<Vec<_>>()).len();
        let of_cuda = if every { String::new() } else { format!(" for CUDA {}", and(&cudas)) };
        let minor = |cuda: &Version| cudas.iter().any(|one| cuda.to_string().starts_with(&format!("{one}.")));
        let images = world.bases("nvidia/cuda").iter();
        let systems = systems_of(images.filter(|base| base.cuda.as_ref().is_some_and(minor)));
        format!("no image{of_cuda} is {}; there are images for {}", and(&wanted.systems), and(&systems))
    };
    Reason { constraint: "base-asked-for".into(), says }
}

/// The systems of images.
fn systems_of<'a>(images: impl Iterator<Item = &'a Base>) -> Vec<String> {
    let names = images.filter_map(|base| base.system.map(|system| system.id.clone()));
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// `nvidia/cuda:12.1.1-devel-ubuntu22.04 is Ubuntu 22.04 with CUDA 12.1.1`.
fn what_it_is(world: &World, base: &Wished) -> Option<String> {
    let Wished::Image(reference) = base else { return None };
    let (repository, tag) = reference.split_once(':')?;
    let found = world.bases(repository).iter().find(|one| one.image.is_some_and(|image| image.tag == tag))?;
    let Some(system) = found.system else {
        return Some(format!("which system {reference} has is not known"));
    };
    let cuda = found.cuda.as_ref().map_or(String::new(), |cuda| format!(" with CUDA {cuda}"));
    Some(format!("{reference} is {}{cuda}", system.name))
}

fn wished(base: &Wished) -> String {
    match base {
        Wished::Repository(name) | Wished::Image(name) => name.clone(),
        Wished::None => "no image at all".to_owned(),
    }
}

/// More CUDA releases than this are no wish for one.
const CUDAS: usize = 2;

/// Why nothing can be compiled on the wished systems: no image has the nvcc, and where its gcc is one that
/// the nvcc does not accept there will be none.
pub(super) fn no_nvcc(world: &World, wanted: &Wanted, places: &[(&Build, &Python)]) -> Vec<Reason> {
    let mut cudas: Vec<&Version> = places.iter().map(|(build, _)| &build.cuda).collect();
    cudas.sort();
    cudas.dedup();
    if !wanted.compile || !wanted.bases.is_empty() || cudas.len() > CUDAS {
        return Vec::new();
    }
    let systems = wanted.systems.iter().filter_map(|id| world.catalog.systems().system(id));
    let mut all = Vec::new();
    for (system, cuda) in systems.flat_map(|system| cudas.iter().map(move |cuda| (system, *cuda))) {
        let of_system = |base: &&Base| {
            base.has_nvcc() == Some(true) && base.system.is_some_and(|other| other.id == system.id)
        };
        let mut there: Vec<&Version> = world
            .bases("nvidia/cuda")
            .iter()
            .filter(of_system)
            .filter_map(|base| base.cuda.as_ref())
            .collect();
        there.sort();
        if there.iter().any(|one| series(one) == series(cuda)) {
            continue;
        }
        let newest =
            places.iter().filter(|(build, _)| build.cuda == *cuda).find_map(|(one, _)| one.toolkits.last());
        let nvcc = newest.unwrap_or(cuda).to_string();
        if let Judgement::Fails(refusal) = compiler::accepts(world.catalog, &nvcc, system) {
            let names = Names::of(&Candidate::default());
            let says = refusal.clause(&names).sentence(&names);
            all.push(Reason { constraint: compiler::CONSTRAINT.id.into(), says });
        }
        let only = match (there.first(), there.last()) {
            (Some(first), Some(last)) => format!(", only for CUDA {first} to {last}"),
            _ => String::new(),
        };
        let says = format!("nvidia/cuda has no image with the nvcc of CUDA {cuda} for {}{only}", system.name);
        all.push(Reason { constraint: "base-asked-for".into(), says });
    }
    all
}

/// Why the constraints refuse base images: images that are refused alike in one sentence. Where any torch
/// will do, one that has no image is not worth a sentence.
pub(super) fn base_reasons(world: &World, stage: &Stage<&Base>, torch_matters: bool) -> Vec<Reason> {
    if !torch_matters {
        return Vec::new();
    }
    let refused = essential(&stage.refused);
    let write = |(_, group): (_, Vec<&Refused>)| {
        let first = group.first()?;
        let builds = builds_of(&group);
        let cudas = super::builds::cudas(&builds);
        let mut images: Vec<String> =
            group.iter().filter_map(|refused| refused.candidate.base.map(Base::name)).collect();
        images.sort();
        images.dedup();
        let image = match &images[..] {
            [one] => one.clone(),
            several => format!("each of {} images", several.len()),
        };
        let torch = phrase(&builds, releases(world, &builds));
        let names = Names {
            build: torch.clone(),
            torch,
            cuda: Phrase::counted(and(&cudas), cudas.len()),
            base: Phrase::one(image),
            ..Names::of(&first.candidate)
        };
        let says = first.objection.clause(&names).sentence(&names);
        Some(Reason { constraint: first.constraint.to_owned(), says })
    };
    let key = |refused: &Refused| (refused.constraint, refused.objection.clone());
    grouped(&refused, key).into_iter().filter_map(write).take(SENTENCES).collect()
}

/// More sentences of one kind help nobody.
const SENTENCES: usize = 5;
