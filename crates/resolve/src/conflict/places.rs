//! Why none of the Pythons and base images that the wishes leave will do.

use std::collections::BTreeSet;

use pep440_rs::Version;

use super::super::answer::Reason;
use super::super::constraint::{Judge, Judgement};
use super::super::constraints::{CONSTRAINTS, compiler};
use super::super::request::Base as Wished;
use super::super::wanted::Wanted;
use super::super::world::{Base, Build, Python, World, series};
use super::builds::{distinct, releases};
use super::ranges::{ranges, verb};
use super::reasons::{Refusal, Stage, essential, grouped};
use catalog::systems;
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
        let refused: Vec<Refusal> =
            stage.refused.iter().filter(|refusal| refusal.constraint == constraint.id).cloned().collect();
        let does = |build: &Build, python: &Python| judge(wanted, build, python) == Judgement::Holds;
        let by_python =
            grouped(&refused, |refusal| refusal.python.map_or(String::new(), |one| one.text.clone()));
        let of_image = refused.iter().any(|refusal| refusal.build.image.is_some());
        let says: Vec<String> = if constraint.id == "torch-wheel-for-python" && !of_image {
            wheels(world, &by_python, does)
        } else {
            distinct(refused.iter().map(|refusal| refusal.says.as_str()))
                .into_iter()
                .map(str::to_owned)
                .collect()
        };
        all.extend(says.into_iter().map(|says| Reason { constraint: constraint.id.to_owned(), says }));
    }
    all
}

/// `torch 2.1.0 to 2.1.2 have no wheel for Python 3.12, only for 3.8 to 3.11; the first torch with one is 2.2.0`.
fn wheels(
    world: &World,
    refused: &[(String, Vec<&Refusal>)],
    does: impl Fn(&Build, &Python) -> bool,
) -> Vec<String> {
    // Pythons that are refused for the same releases go into one sentence.
    let of = |refusals: &[&Refusal]| {
        let builds: Vec<&Build> = refusals.iter().map(|refusal| refusal.build).collect();
        (releases(&builds), distinct(builds.iter().map(|build| build.release.version.as_str())).len())
    };
    let sentences = grouped(refused, |(_, refusals)| of(refusals).0);
    let texts: Vec<&str> = world.pythons.iter().map(|python| python.text.as_str()).collect();
    let write = |(subject, group): (String, Vec<&(String, Vec<&Refusal>)>)| {
        let (_, refusals) = group.first()?;
        let count = of(refusals).1;
        let pythons = ranges(&texts, |one| group.iter().any(|(python, _)| python == one));
        let has = |python: &Python| refusals.iter().any(|refusal| does(refusal.build, python));
        let wheels: Vec<&str> =
            world.pythons.iter().filter(|python| has(python)).map(|python| python.text.as_str()).collect();
        let only = if wheels.is_empty() {
            String::new()
        } else {
            format!(", only for {}", ranges(&texts, |one| wheels.contains(&one)))
        };
        let first = first_after(world, refusals, &does);
        Some(format!("{subject} {} no wheel for Python {pythons}{only}{first}", verb(count, "has", "have")))
    };
    sentences.into_iter().filter_map(write).collect()
}

/// The builds among which the refused ones are: PyTorch's releases; of the torch of images there is no other.
fn refusals_of<'w>(world: &'w World, refusals: &[&Refusal]) -> &'w [Build] {
    match refusals.iter().any(|refusal| refusal.build.image.is_some()) {
        true => &[],
        false => &world.builds,
    }
}

/// The first release after those refused, or the last before them, that has a wheel for the same Python.
fn first_after(world: &World, refusals: &[&Refusal], does: impl Fn(&Build, &Python) -> bool) -> String {
    let Some(python) = refusals.first().and_then(|refusal| refusal.python) else { return String::new() };
    let newest = refusals.iter().map(|refusal| &refusal.build.version).max();
    let oldest = refusals.iter().map(|refusal| &refusal.build.version).min();
    let with: Vec<&Build> = refusals_of(world, refusals).iter().filter(|build| does(build, python)).collect();
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

/// Why nothing can be compiled on the wished systems: no image has the nvcc, and where its gcc is one that the nvcc does not accept
/// there will be none.
pub(super) fn no_nvcc(world: &World, wanted: &Wanted, places: &[(&Build, &Python)]) -> Vec<Reason> {
    let mut cudas: Vec<&Version> = places.iter().map(|(build, _)| &build.cuda).collect();
    cudas.sort();
    cudas.dedup();
    if !wanted.compile || !wanted.bases.is_empty() || cudas.len() > CUDAS {
        return Vec::new();
    }
    let systems = wanted.systems.iter().filter_map(|id| systems::system(id));
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
        if let Judgement::Fails(says) = compiler::accepts(&nvcc, system) {
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

/// What the constraints say of the base images that they refuse: each sentence once, the names in it brought together. Where any
/// torch will do, one that has no image is not worth a sentence.
pub(super) fn base_reasons(stage: &Stage<&Base>, torch_matters: bool) -> Vec<Reason> {
    if !torch_matters {
        return Vec::new();
    }
    let refused = essential(&stage.refused);
    let write = |(pattern, refusals): (String, Vec<&Refusal>)| {
        let builds: Vec<&Build> = refusals.iter().map(|refusal| refusal.build).collect();
        let several = distinct(builds.iter().map(|build| build.release.version.as_str())).len();
        let images = distinct_names(&refusals);
        let image =
            if let [one] = &images[..] { one.clone() } else { format!("each of {} images", images.len()) };
        let says = pattern
            .replace("\u{2} was ", &format!("\u{2} {} ", verb(several, "was", "were")))
            .replace('\u{2}', &releases(&builds))
            .replace('\u{3}', &and(&super::builds::cudas(&builds)))
            .replace('\u{1}', &image);
        Some(Reason { constraint: refusals.first()?.constraint.to_owned(), says })
    };
    grouped(&refused, base_pattern).into_iter().filter_map(write).take(SENTENCES).collect()
}

/// A sentence with marks for the image, the torch build and its CUDA.
fn base_pattern(refusal: &Refusal) -> String {
    let name = refusal.base.map(Base::name).unwrap_or_default();
    let build = refusal.build;
    let text = refusal.says.replace(&name, "\u{1}");
    let text = text.strip_prefix("it ").map_or(text.clone(), |rest| format!("\u{1} {rest}"));
    let text =
        text.replace(&build.name(), "\u{2}").replace(&format!("torch {}", build.release.version), "\u{2}");
    match text.strip_suffix(&format!("made with CUDA {}", build.cuda)) {
        Some(start) => format!("{start}made with CUDA \u{3}"),
        None => text,
    }
}

/// More sentences of one kind help nobody.
const SENTENCES: usize = 5;

fn distinct_names(refusals: &[&Refusal]) -> Vec<String> {
    let mut names: Vec<String> = refusals.iter().filter_map(|refusal| refusal.base.map(Base::name)).collect();
    names.sort();
    names.dedup();
    names
}
