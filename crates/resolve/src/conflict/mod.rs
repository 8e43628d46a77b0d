//! Why there is no stack, and the nearest alternatives.
//!
//! First the smallest set of requirements that cannot hold together ([`core`]), then what the constraints say
//! of the candidates that these requirements leave ([`reasons`]), then what has to be changed for the least
//! ([`nearest`]). Everything comes from searches with some of the requirements, so it is as true as they are.

mod absent;
mod beyond;
mod build_names;
mod builds;
mod core;
mod drivers;
mod environment;
mod from_source;
mod nearest;
mod outside;
mod packages;
mod ranges;
mod reasons;
mod refused_release;
mod relaxed;
mod stage;
#[cfg(test)]
mod tests;
mod versions;

use super::outcome::{Conflict, Nearest, Reason};
use super::request::{Request, Requirement, RequirementKind};
use super::universe::Universe;
use super::verdict::Tolerance;
use core::Searcher;
use diagnostic::words::and;
use outside::Outside;
use pep440_rs::Version;

/// Changes of more requirements than this at once are not looked for.
const CHANGES: usize = 4;

/// More stacks than this are not reported.
const STACKS: usize = 8;

/// Why no stack meets a request.
pub(crate) fn explain(universe: &Universe, request: &Request) -> Conflict {
    explain_with(&mut Searcher::new(universe, request))
}

fn explain_with(searcher: &mut Searcher) -> Conflict {
    let requirements = core::distinct(searcher.request);
    if !searcher.hold(&[]) {
        let message = "The catalog has no stack at all, whatever is wished.".to_owned();
        return Conflict {
            message,
            requirements: vec![],
            reasons: vec![],
            nearest: vec![],
            undecided: false,
        };
    }
    let (cores, corrections) = corrections(searcher, &requirements);
    let mut reported: Vec<&Vec<Requirement>> = Vec::new();
    for core in &cores {
        // A second conflict is reported if it shares no requirement with the first.
        if reported.iter().all(|known| core.iter().all(|requirement| !known.contains(requirement))) {
            reported.push(core);
        }
    }
    let limits: Vec<Limit> = reported.iter().map(|core| Limit::of(searcher, core)).collect();
    let names = |core: &[Requirement]| -> Vec<String> {
        core.iter().map(|requirement| nearest::named(searcher, requirement)).collect()
    };
    let undecided = !limits.is_empty() && limits.iter().all(|limit| *limit != Limit::Within);
    let described = reported.iter().zip(&limits).map(|(core, limit)| describe(&names(core), limit));
    let messages: Vec<String> = described.collect();
    let first = reported.first().map_or(Vec::new(), |core| names(core));
    let gpus = core::gpus(&requirements);
    let reasons = reported.iter().flat_map(|core| reasons_of(searcher, core, &gpus)).collect();
    let both_sides = cores.first().is_some_and(|core| core.len() == 1);
    let nearest = nearest_of(searcher, &requirements, &corrections, both_sides);
    Conflict { message: messages.join(" "), requirements: first, reasons, nearest, undecided }
}

/// Whether the catalog can tell that requirements are incompatible.
#[derive(Debug, PartialEq, Eq)]
enum Limit {
    /// It has every release that comes into question.
    Within,
    /// The only requirement reaches beyond it.
    Outside(Outside),
    /// One of several packages has releases before those in the catalog.
    OlderReleases { package: String, oldest: Version },
    /// Releases are refused only because nobody read whether they work without CUDA.
    WithoutCudaNotRead,
}

impl Limit {
    fn of(searcher: &mut Searcher, core: &[Requirement]) -> Limit {
        let universe = searcher.universe;
        let cpu = core.iter().any(|one| matches!(one.kind, RequirementKind::Cpu));
        if cpu && searcher.hold_within(core, Tolerance::UNPROVEN) {
            return Limit::WithoutCudaNotRead;
        }
        if let [one] = core {
            return outside::outside(universe, &one.kind).map_or(Limit::Within, Limit::Outside);
        }
        let older = outside::with_older_releases(universe, core);
        older.map_or(Limit::Within, |(package, oldest)| Limit::OlderReleases { package, oldest })
    }
}

fn describe(names: &[String], limit: &Limit) -> String {
    match (names, limit) {
        ([one], Limit::Outside(side)) => {
            let side = match side {
                Outside::Older => "older",
                Outside::Newer => "newer",
            };
            format!("Unknown: {one} is {side} than every release in the catalog.")
        }
        (several, Limit::OlderReleases { package, oldest }) => format!(
            "Whether {} are compatible is unknown: the catalog begins with {package} {oldest}, and none of \
             its releases is; an older one may be.",
            and(several)
        ),
        (several, Limit::WithoutCudaNotRead) => format!(
            "Whether {} are compatible is unknown: the catalog does not say of every release whether it \
             works \
             without CUDA.",
            and(several)
        ),
        ([one], _) => format!("No stack satisfies {one}."),
        (several, _) => format!("{} are incompatible.", and(several)),
    }
}

/// Why the requirements of a conflict cannot hold together; a driver is judged with the required GPUs.
fn reasons_of(searcher: &Searcher, core: &[Requirement], gpus: &[Requirement]) -> Vec<Reason> {
    let absent = match core {
        [one] => absent::reason(searcher.universe, &one.kind),
        _ => None,
    };
    match absent {
        Some(reason) => vec![reason],
        None => {
            let whole = core::with_gpus(core, gpus);
            let core = searcher.with(whole.as_deref().unwrap_or(core));
            reasons::reasons(searcher.universe, &core, searcher.request)
        }
    }
}

/// The sets of requirements (by index) that have to be changed, as few at once as will do, and the conflicts
/// that were met.
fn corrections(
    searcher: &mut Searcher,
    requirements: &[Requirement],
) -> (Vec<Vec<Requirement>>, Vec<Vec<usize>>) {
    let mut cores: Vec<Vec<Requirement>> = Vec::new();
    let mut level: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..CHANGES {
        let mut next: Vec<Vec<usize>> = Vec::new();
        let mut enough: Vec<Vec<usize>> = Vec::new();
        for removed in &level {
            let rest = without(requirements, removed);
            let core = core::smallest(searcher, &rest);
            for requirement in &core {
                let mut more = removed.clone();
                more.extend(requirements.iter().position(|one| one == requirement));
                more.sort_unstable();
                let known = next.contains(&more) || enough.contains(&more);
                match known {
                    true => {}
                    false if searcher.hold(&without(requirements, &more)) => enough.push(more),
                    false => next.push(more),
                }
            }
            if !cores.contains(&core) {
                cores.push(core);
            }
        }
        if !enough.is_empty() {
            return (cores, enough);
        }
        level = next;
        level.truncate(STACKS);
    }
    (cores, Vec::new())
}

fn without(requirements: &[Requirement], indices: &[usize]) -> Vec<Requirement> {
    let kept = requirements.iter().enumerate().filter(|(index, _)| !indices.contains(index));
    kept.map(|(_, requirement)| requirement.clone()).collect()
}

fn nearest_of(
    searcher: &mut Searcher,
    requirements: &[Requirement],
    corrections: &[Vec<usize>],
    both_sides: bool,
) -> Vec<Nearest> {
    let mut all: Vec<(relaxed::Cost, Nearest)> = Vec::new();
    for indices in corrections.iter().take(STACKS) {
        let relaxed: Vec<Requirement> = indices.iter().map(|&index| requirements[index].clone()).collect();
        let others = without(requirements, indices);
        all.extend(nearest::nearest(searcher, &relaxed, &others, both_sides && relaxed.len() == 1));
    }
    // Stacks that depend on an unknown are reported only if the same requirement leads to no known stack.
    let known: Vec<String> = all
        .iter()
        .filter(|(cost, _)| !cost.tolerance.unknown)
        .map(|(_, near)| near.requirement.clone())
        .collect();
    all.retain(|(cost, near)| !cost.tolerance.unknown || !known.contains(&near.requirement));
    all.extend(from_source::nearest(searcher, requirements));
    all.sort_by_key(|(cost, _)| *cost);
    all.truncate(STACKS);
    all.into_iter().map(|(_, nearest)| nearest).collect()
}
