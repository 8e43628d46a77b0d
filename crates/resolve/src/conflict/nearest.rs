//! The nearest stacks: some requirements are relaxed as little as needed for the others to hold.

use super::super::assemble;
use super::super::criteria::Criteria;
use super::super::message::Remark;
use super::super::outcome::Nearest;
use super::super::request::{Base, Request, Requirement, RequirementKind};
use super::super::search::{self, Choice};
use super::super::verdict::Judgement;
use super::core::Searcher;
use super::drivers;
use super::relaxed::{Cost, Relaxed};
use super::versions::{self, Part};
use crate::parameter::{Parameter, Source};
use catalog::images::{Existence, Image, Reference};
use diagnostic::words::and;

/// The nearest stacks when these requirements are relaxed while all others hold. `both_sides`: a version that
/// does not exist gets its neighbours on both sides.
pub(super) fn nearest(
    searcher: &mut Searcher,
    relaxed: &[Requirement],
    others: &[Requirement],
    both_sides: bool,
) -> Vec<(Cost, Nearest)> {
    if let [requirement] = relaxed {
        let found = relax(searcher, requirement, others, both_sides);
        return found.into_iter().filter_map(|one| finish(searcher, relaxed, others, &[one])).collect();
    }
    // One after the other: each is as near as it can be once those before it have been replaced.
    let mut relaxed_so_far = others.to_vec();
    let mut changes = Vec::new();
    for requirement in relaxed {
        let found = relax(searcher, requirement, &relaxed_so_far, false);
        let Some(best) = found.into_iter().min_by_key(|one| one.cost) else { return Vec::new() };
        relaxed_so_far.extend(best.replacement.clone());
        changes.push(best);
    }
    finish(searcher, relaxed, others, &changes).into_iter().collect()
}

/// The stack of some changes, with what it costs.
pub(super) fn finish(
    searcher: &mut Searcher,
    requirements: &[Requirement],
    others: &[Requirement],
    changes: &[Relaxed],
) -> Option<(Cost, Nearest)> {
    let mut all = others.to_vec();
    all.extend(changes.iter().filter_map(|change| change.replacement.clone()));
    let (choice, tolerance) = searcher.best(&all)?;
    let stack =
        assemble::stack(&Criteria::from_request(searcher.universe.catalog, &searcher.with(&all)), &choice);
    let cost = Cost {
        weight: changes.iter().map(|change| change.cost.weight).max()?,
        tolerance,
        steps: changes.iter().map(|change| change.cost.steps).sum(),
    };
    let names: Vec<String> = requirements.iter().map(|requirement| named(searcher, requirement)).collect();
    let options: Vec<&str> = changes.iter().filter_map(|change| change.option.as_deref()).collect();
    let changes: Vec<&str> = changes.iter().map(|change| change.change.as_str()).collect();
    let change = and(&changes) + &price(searcher, &searcher.with(&all), &choice);
    Some((
        cost,
        Nearest {
            requirement: and(&names),
            replacement: (!options.is_empty()).then(|| options.join(" ")),
            change,
            stack,
        },
    ))
}

/// The costs and unknowns of a stack, as the end of a sentence.
fn price(searcher: &Searcher, request: &Request, choice: &Choice) -> String {
    let mut clauses: Vec<String> = Vec::new();
    for judged in search::judge(searcher.universe.catalog, request, choice) {
        // What costs nothing and can be done is a warning of that stack, not a price.
        if let Judgement::Notes(_) = judged.judgement {
            continue;
        }
        let clause = match judged.judgement.remark(&judged.candidate) {
            Some(Remark::Known(text)) => format!("; {text}"),
            Some(Remark::Unknown(question)) => format!("; unknown: {question}"),
            None => continue,
        };
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }
    clauses.concat()
}

/// A requirement in the user's words; one that stands for several alike (the GPUs of a node) says so.
pub(super) fn named(searcher: &Searcher, requirement: &Requirement) -> String {
    match searcher.request.requirements.iter().filter(|other| other.kind == requirement.kind).count() {
        0 | 1 => requirement.source.to_string(),
        count => format!("{} (and {} more like it)", requirement.source, count - 1),
    }
}

fn relax(
    searcher: &mut Searcher,
    requirement: &Requirement,
    others: &[Requirement],
    both_sides: bool,
) -> Vec<Relaxed> {
    if let Some((part, versions)) = Part::of(&requirement.kind) {
        let found = versions::relax(searcher, (part, versions, &requirement.source), others, both_sides);
        if !found.is_empty() {
            return found;
        }
    }
    match &requirement.kind {
        RequirementKind::Driver(driver) => drivers::relax(searcher, *driver, &requirement.source, others),
        RequirementKind::Base(base) => another_base(searcher, base, others),
        RequirementKind::System(id) => written(searcher, others, |stack| {
            let system = stack.system.clone()?;
            Some((
                Source::option(Parameter::Os, system.as_str()),
                RequirementKind::System(system.clone()),
                format!("{system} instead of {id}"),
            ))
        }),
        RequirementKind::Cpu => written(searcher, others, |stack| {
            let versions = (!stack.is_cpu()).then(|| stack.cuda.parse().ok()).flatten()?;
            Some((
                Source::option(Parameter::Cuda, stack.cuda.as_str()),
                RequirementKind::Cuda(versions),
                format!("CUDA {} instead of a CPU build", stack.cuda),
            ))
        }),
        RequirementKind::Architecture(name) => ["x86_64", "aarch64"]
            .into_iter()
            .filter(|other| other != name)
            .filter_map(|other| {
                let kind = RequirementKind::Architecture(other.to_owned());
                replaced(
                    searcher,
                    others,
                    Source::option(Parameter::Arch, other),
                    kind,
                    format!("{other} instead of {name}"),
                    5,
                )
            })
            .collect(),
        RequirementKind::Package(name, _) => without(searcher, others, format!("{name} is left out"), 4),
        RequirementKind::Compile => {
            without(searcher, others, "no CUDA code is compiled in the image".to_owned(), 2)
        }
        RequirementKind::Gpu(gpu) => {
            without(searcher, others, format!("the stack does not run on the {}", gpu.name), 5)
        }
        RequirementKind::Torch(_)
        | RequirementKind::Cuda(_)
        | RequirementKind::Python(_)
        | RequirementKind::Unchecked(_) => Vec::new(),
    }
}

/// The requirement is left out.
fn without(searcher: &mut Searcher, others: &[Requirement], change: String, weight: u8) -> Vec<Relaxed> {
    let Some((_, tolerance)) = searcher.any(others) else { return Vec::new() };
    vec![Relaxed { replacement: None, option: None, change, cost: Cost { weight, tolerance, steps: 1 } }]
}

/// The requirement is replaced by another one, if that holds.
fn replaced(
    searcher: &mut Searcher,
    others: &[Requirement],
    source: Source,
    kind: RequirementKind,
    change: String,
    weight: u8,
) -> Option<Relaxed> {
    let replacement = Requirement { source: source.clone(), kind };
    let mut all = others.to_vec();
    all.push(replacement.clone());
    let (_, tolerance) = searcher.any(&all)?;
    Some(Relaxed {
        replacement: Some(replacement),
        option: Some(source.to_string()),
        change,
        cost: Cost { weight, tolerance, steps: 1 },
    })
}

/// The requirement is left out, and what such a stack has in its place is written down.
fn written(
    searcher: &mut Searcher,
    others: &[Requirement],
    write: impl Fn(&super::super::outcome::Stack) -> Option<(Source, RequirementKind, String)>,
) -> Vec<Relaxed> {
    let Some((choice, _)) = searcher.any(others) else { return Vec::new() };
    let stack =
        assemble::stack(&Criteria::from_request(searcher.universe.catalog, &searcher.with(others)), &choice);
    let Some((source, kind, change)) = write(&stack) else { return Vec::new() };
    replaced(searcher, others, source, kind, change, 1).into_iter().collect()
}

/// An image that differs little, else the best one of the same repository, else one of all.
fn another_base(searcher: &mut Searcher, base: &Base, others: &[Requirement]) -> Vec<Relaxed> {
    let Base::Image(reference) = base else {
        let name = if let Base::Repository(name) = base { name } else { "none" };
        return image_of_best(searcher, others, name);
    };
    let Reference { repository, tag } = reference;
    let name = reference.to_string();
    let mut of_repository = others.to_vec();
    let kind = RequirementKind::Base(Base::Repository(repository.clone()));
    of_repository.push(Requirement { source: Source::Trial, kind });
    // The same image with the CUDA that it would have to have.
    let cuda =
        searcher.any(&of_repository).and_then(|(choice, _)| choice.environment.base.image?.cuda.clone());
    let same = cuda.zip(tag.split_once('-')).map(|(cuda, (_, rest))| format!("{repository}:{cuda}-{rest}"));
    let near = [Some(name.clone()), same]
        .into_iter()
        .flatten()
        .flat_map(|one| searcher.universe.catalog.images().nearest(&one));
    let alike = devel(searcher, reference).into_iter().chain(near);
    for image in alike {
        let other = image.reference();
        let change = format!("{other} instead of {reference}");
        let kind = RequirementKind::Base(Base::Image(image.into()));
        let source = Source::option(Parameter::Base, other);
        if let Some(found) = replaced(searcher, others, source, kind, change, 1) {
            return vec![found];
        }
    }
    match image_of_best(searcher, &of_repository, &name) {
        found if found.is_empty() => image_of_best(searcher, others, &name),
        found => found,
    }
}

/// The variant of an image with nvcc, if it has none itself.
fn devel(searcher: &Searcher, Reference { repository, tag }: &Reference) -> Option<&'static Image> {
    let mut words: Vec<&str> = tag.split('-').collect();
    let flavour = words.iter_mut().find(|word| ["base", "runtime"].contains(word))?;
    *flavour = "devel";
    match searcher.universe.catalog.images().exists(&format!("{repository}:{}", words.join("-"))) {
        Existence::Yes(image) => Some(image),
        _ => None,
    }
}

fn image_of_best(searcher: &mut Searcher, others: &[Requirement], name: &str) -> Vec<Relaxed> {
    written(searcher, others, |stack| {
        let image = stack.base_image.clone()?;
        Some((
            Source::option(Parameter::Base, image.to_string()),
            RequirementKind::Base(Base::Image(image.clone())),
            format!("{image} instead of {name}"),
        ))
    })
}
