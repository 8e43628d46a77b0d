//! The stacks that come nearest: some wishes are given up for the least that makes the others hold.

use super::super::answer::Nearest;
use super::super::assemble;
use super::super::message::Remark;
use super::super::request::{Base, Request, Want, Wish};
use super::super::search::{self, Choice};
use super::super::verdict::Judgement;
use super::super::verdict::Tolerance;
use super::super::wanted::Wanted;
use super::core::Searcher;
use super::drivers;
use super::versions::{self, Part};
use crate::parameter::{Parameter, Source};
use catalog::images::{Existence, Image};
use diagnostic::words::and;

/// What a change costs, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// From another patch release (0), minor (1) or major (2) over another driver (3) and a package less (4)
    /// to hardware that is left out (5).
    pub weight: u8,
    /// What the stack then has to put up with.
    pub tolerance: Tolerance,
    /// How many releases it is away.
    pub steps: usize,
}

/// A wish that was changed so that the others hold.
#[derive(Debug, Clone)]
pub(super) struct Relaxed {
    /// What is wished instead; `None`: nothing.
    pub replacement: Option<Wish>,
    /// What to type instead.
    pub instead: Option<String>,
    /// What it costs, in a sentence.
    pub change: String,
    pub cost: Cost,
}

/// The nearest stacks when these wishes are relaxed while all others hold. `both_sides`: a version that does
/// not exist gets its neighbours on both sides.
pub(super) fn nearest(
    searcher: &mut Searcher,
    relaxed: &[Wish],
    others: &[Wish],
    both_sides: bool,
) -> Vec<(Cost, Nearest)> {
    if let [wish] = relaxed {
        let found = relax(searcher, wish, others, both_sides);
        return found.into_iter().filter_map(|one| finish(searcher, relaxed, others, &[one])).collect();
    }
    // One after the other: each is as near as it can be once those before it have been settled.
    let mut settled = others.to_vec();
    let mut changes = Vec::new();
    for wish in relaxed {
        let found = relax(searcher, wish, &settled, false);
        let Some(best) = found.into_iter().min_by_key(|one| one.cost) else { return Vec::new() };
        settled.extend(best.replacement.clone());
        changes.push(best);
    }
    finish(searcher, relaxed, others, &changes).into_iter().collect()
}

fn finish(
    searcher: &mut Searcher,
    wishes: &[Wish],
    others: &[Wish],
    changes: &[Relaxed],
) -> Option<(Cost, Nearest)> {
    let mut all = others.to_vec();
    all.extend(changes.iter().filter_map(|change| change.replacement.clone()));
    let (choice, tolerance) = searcher.best(&all)?;
    let stack = assemble::stack(&Wanted::of(searcher.world.catalog, &searcher.with(&all)), &choice);
    let cost = Cost {
        weight: changes.iter().map(|change| change.cost.weight).max()?,
        tolerance,
        steps: changes.iter().map(|change| change.cost.steps).sum(),
    };
    let says: Vec<String> = wishes.iter().map(|wish| named(searcher, wish)).collect();
    let typed: Vec<&str> = changes.iter().filter_map(|change| change.instead.as_deref()).collect();
    let changes: Vec<&str> = changes.iter().map(|change| change.change.as_str()).collect();
    let change = and(&changes) + &price(searcher, &searcher.with(&all), &choice);
    Some((
        cost,
        Nearest { wish: and(&says), instead: (!typed.is_empty()).then(|| typed.join(" ")), change, stack },
    ))
}

/// What a stack has to put up with, as the end of a sentence.
fn price(searcher: &Searcher, request: &Request, choice: &Choice) -> String {
    let mut clauses: Vec<String> = Vec::new();
    for judged in search::judge(searcher.world.catalog, request, choice) {
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

/// A wish in the user's words; one that stands for several alike (the GPUs of a node) says so.
pub(super) fn named(searcher: &Searcher, wish: &Wish) -> String {
    match searcher.request.wishes.iter().filter(|other| other.want == wish.want).count() {
        0 | 1 => wish.source.to_string(),
        count => format!("{} (and {} more like it)", wish.source, count - 1),
    }
}

fn relax(searcher: &mut Searcher, wish: &Wish, others: &[Wish], both_sides: bool) -> Vec<Relaxed> {
    if let Some((part, versions)) = Part::of(&wish.want) {
        let found = versions::relax(searcher, (part, versions, &wish.source), others, both_sides);
        if !found.is_empty() {
            return found;
        }
    }
    match &wish.want {
        Want::Driver(driver) => drivers::relax(searcher, *driver, &wish.source, others),
        Want::Base(base) => another_base(searcher, base, others),
        Want::System(id) => written(searcher, others, |stack| {
            let system = stack.system.clone()?;
            Some((
                Source::option(Parameter::Os, system.as_str()),
                Want::System(system.clone()),
                format!("{system} instead of {id}"),
            ))
        }),
        Want::Architecture(name) => ["x86_64", "aarch64"]
            .into_iter()
            .filter(|other| other != name)
            .filter_map(|other| {
                let want = Want::Architecture(other.to_owned());
                replaced(
                    searcher,
                    others,
                    Source::option(Parameter::Arch, other),
                    want,
                    format!("{other} instead of {name}"),
                    5,
                )
            })
            .collect(),
        Want::Package(name, _) => without(searcher, others, format!("{name} is left out"), 4),
        Want::Compile => without(searcher, others, "no CUDA code is compiled in the image".to_owned(), 2),
        Want::Gpu(gpu) => without(searcher, others, format!("it does not run on the {}", gpu.name), 5),
        Want::Torch(_) | Want::Cuda(_) | Want::Python(_) => Vec::new(),
    }
}

/// The wish is left out.
fn without(searcher: &mut Searcher, others: &[Wish], change: String, weight: u8) -> Vec<Relaxed> {
    let Some((_, tolerance)) = searcher.any(others) else { return Vec::new() };
    vec![Relaxed { replacement: None, instead: None, change, cost: Cost { weight, tolerance, steps: 1 } }]
}

/// The wish is replaced by another one, if that holds.
fn replaced(
    searcher: &mut Searcher,
    others: &[Wish],
    source: Source,
    want: Want,
    change: String,
    weight: u8,
) -> Option<Relaxed> {
    let replacement = Wish { source: source.clone(), want };
    let mut all = others.to_vec();
    all.push(replacement.clone());
    let (_, tolerance) = searcher.any(&all)?;
    Some(Relaxed {
        replacement: Some(replacement),
        instead: Some(source.to_string()),
        change,
        cost: Cost { weight, tolerance, steps: 1 },
    })
}

/// The wish is left out, and what such a stack has in its place is written down.
fn written(
    searcher: &mut Searcher,
    others: &[Wish],
    write: impl Fn(&super::super::answer::Stack) -> Option<(Source, Want, String)>,
) -> Vec<Relaxed> {
    let Some((choice, _)) = searcher.any(others) else { return Vec::new() };
    let stack = assemble::stack(&Wanted::of(searcher.world.catalog, &searcher.with(others)), &choice);
    let Some((source, want, change)) = write(&stack) else { return Vec::new() };
    replaced(searcher, others, source, want, change, 1).into_iter().collect()
}

/// An image that differs little, else the best one of the same repository, else one of all.
fn another_base(searcher: &mut Searcher, base: &Base, others: &[Wish]) -> Vec<Relaxed> {
    let Base::Image(reference) = base else {
        let name = if let Base::Repository(name) = base { name } else { "none" };
        return image_of_best(searcher, others, name);
    };
    let (repository, tag) = reference.split_once(':').unwrap_or((reference, "latest"));
    let mut of_repository = others.to_vec();
    let want = Want::Base(Base::Repository(repository.to_owned()));
    of_repository.push(Wish { source: Source::Trial, want });
    // The same image with the CUDA that it would have to have.
    let cuda = searcher.any(&of_repository).and_then(|(choice, _)| choice.place.base.image?.cuda.clone());
    let same = cuda.zip(tag.split_once('-')).map(|(cuda, (_, rest))| format!("{repository}:{cuda}-{rest}"));
    let near = [Some(reference.clone()), same]
        .into_iter()
        .flatten()
        .flat_map(|one| searcher.world.catalog.images().nearest(&one));
    let alike = devel(searcher, reference).into_iter().chain(near);
    for image in alike {
        let other = image.reference();
        let change = format!("{other} instead of {reference}");
        let want = Want::Base(Base::Image(other.clone()));
        let source = Source::option(Parameter::Base, other);
        if let Some(found) = replaced(searcher, others, source, want, change, 1) {
            return vec![found];
        }
    }
    match image_of_best(searcher, &of_repository, reference) {
        found if found.is_empty() => image_of_best(searcher, others, reference),
        found => found,
    }
}

/// The same image with nvcc, where it is one without.
fn devel(searcher: &Searcher, reference: &str) -> Option<&'static Image> {
    let (repository, tag) = reference.split_once(':')?;
    let mut words: Vec<&str> = tag.split('-').collect();
    let flavour = words.iter_mut().find(|word| ["base", "runtime"].contains(word))?;
    *flavour = "devel";
    match searcher.world.catalog.images().exists(&format!("{repository}:{}", words.join("-"))) {
        Existence::Yes(image) => Some(image),
        _ => None,
    }
}

fn image_of_best(searcher: &mut Searcher, others: &[Wish], name: &str) -> Vec<Relaxed> {
    written(searcher, others, |stack| {
        let image = stack.base_image.clone()?;
        Some((
            Source::option(Parameter::Base, image.as_str()),
            Want::Base(Base::Image(image.clone())),
            format!("{image} instead of {name}"),
        ))
    })
}
