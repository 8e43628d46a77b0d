//! Why there is no stack, and which ones come nearest.
//!
//! First the smallest set of wishes that cannot hold together ([`core`]), then what the constraints say of
//! the candidates that these wishes leave ([`reasons`]), then what has to be changed for the least
//! ([`nearest`]). Everything comes from searches with some of the wishes, so it is as true as they are.

mod absent;
mod builds;
mod core;
mod drivers;
mod nearest;
mod packages;
mod places;
mod ranges;
mod reasons;
#[cfg(test)]
mod tests;
mod versions;

use super::answer::{Conflict, Nearest, Reason};
use super::request::{Request, Wish};
use super::world::World;
use core::Searcher;
use diagnostic::words::and;

/// Changes of more wishes than this at once are not looked for.
const CHANGES: usize = 4;

/// More stacks than this are not told.
const STACKS: usize = 8;

/// Why no stack meets a request.
pub fn explain(world: &World, request: &Request) -> Conflict {
    explain_with(&mut Searcher { world, request, searches: 0 })
}

fn explain_with(searcher: &mut Searcher) -> Conflict {
    let wishes = core::distinct(searcher.request);
    if !searcher.hold(&[]) {
        let says = "The catalog has no stack at all, whatever is wished.".to_owned();
        return Conflict { says, wishes: vec![], reasons: vec![], nearest: vec![] };
    }
    let (cores, corrections) = corrections(searcher, &wishes);
    let mut told: Vec<&Vec<Wish>> = Vec::new();
    for core in &cores {
        // A second conflict is told where it has nothing to do with the first.
        if told.iter().all(|known| core.iter().all(|wish| !known.contains(wish))) {
            told.push(core);
        }
    }
    let names =
        |core: &[Wish]| -> Vec<String> { core.iter().map(|wish| nearest::named(searcher, wish)).collect() };
    let says: Vec<String> = told.iter().map(|core| says(&names(core))).collect();
    let first = told.first().map_or(Vec::new(), |core| names(core));
    let gpus = core::gpus(&wishes);
    let reasons = told.iter().flat_map(|core| reasons_of(searcher, core, &gpus)).collect();
    let both_sides = cores.first().is_some_and(|core| core.len() == 1);
    let nearest = nearest_of(searcher, &wishes, &corrections, both_sides);
    Conflict { says: says.join(" "), wishes: first, reasons, nearest }
}

fn says(names: &[String]) -> String {
    match names {
        [one] => format!("Nothing meets {one}."),
        several => format!("{} are incompatible.", and(several)),
    }
}

/// Why the wishes of a conflict cannot hold together; a driver is looked at with the GPUs that were wished.
fn reasons_of(searcher: &Searcher, core: &[Wish], gpus: &[Wish]) -> Vec<Reason> {
    let absent = match core {
        [one] => absent::reason(searcher.world, &one.want),
        _ => None,
    };
    match absent {
        Some(reason) => vec![reason],
        None => {
            let whole = core::with_gpus(core, gpus);
            reasons::reasons(searcher.world, &searcher.with(whole.as_deref().unwrap_or(core)))
        }
    }
}

/// The sets of wishes (by their places) that have to be changed, as few at once as will do, and the conflicts
/// that were met.
fn corrections(searcher: &mut Searcher, wishes: &[Wish]) -> (Vec<Vec<Wish>>, Vec<Vec<usize>>) {
    let mut cores: Vec<Vec<Wish>> = Vec::new();
    let mut level: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..CHANGES {
        let mut next: Vec<Vec<usize>> = Vec::new();
        let mut enough: Vec<Vec<usize>> = Vec::new();
        for removed in &level {
            let rest = without(wishes, removed);
            let core = core::smallest(searcher, &rest);
            for wish in &core {
                let mut more = removed.clone();
                more.extend(wishes.iter().position(|one| one == wish));
                more.sort_unstable();
                let known = next.contains(&more) || enough.contains(&more);
                match known {
                    true => {}
                    false if searcher.hold(&without(wishes, &more)) => enough.push(more),
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

fn without(wishes: &[Wish], places: &[usize]) -> Vec<Wish> {
    let kept = wishes.iter().enumerate().filter(|(place, _)| !places.contains(place));
    kept.map(|(_, wish)| wish.clone()).collect()
}

fn nearest_of(
    searcher: &mut Searcher,
    wishes: &[Wish],
    corrections: &[Vec<usize>],
    both_sides: bool,
) -> Vec<Nearest> {
    let mut all: Vec<(nearest::Cost, Nearest)> = Vec::new();
    for places in corrections.iter().take(STACKS) {
        let relaxed: Vec<Wish> = places.iter().map(|&place| wishes[place].clone()).collect();
        let others = without(wishes, places);
        all.extend(nearest::nearest(searcher, &relaxed, &others, both_sides && relaxed.len() == 1));
    }
    // What rests on something that nobody knows is told only where the same wish leads to nothing that is
    // known.
    let known: Vec<String> =
        all.iter().filter(|(cost, _)| !cost.tolerance.unknown).map(|(_, near)| near.wish.clone()).collect();
    all.retain(|(cost, near)| !cost.tolerance.unknown || !known.contains(&near.wish));
    all.sort_by_key(|(cost, _)| *cost);
    all.truncate(STACKS);
    all.into_iter().map(|(_, nearest)| nearest).collect()
}
