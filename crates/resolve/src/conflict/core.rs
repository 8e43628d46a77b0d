//! Which wishes cannot hold together: as few as possible.

use super::super::request::{Request, Want, Wish};
use super::super::search::{self, Choice};
use super::super::verdict::Tolerance;
use super::super::world::World;

/// How many searches may be spent on looking for a smaller set than one that is minimal already.
const SEARCHES: usize = 60;

/// Searches with some of the wishes of a request, and counts them.
pub(super) struct Searcher<'w, 'r> {
    pub world: &'w World,
    pub request: &'r Request,
    /// Searches made so far.
    pub searches: usize,
}

impl<'w> Searcher<'w, '_> {
    /// The request with other wishes.
    pub fn with(&self, wishes: &[Wish]) -> Request {
        Request {
            wishes: wishes.to_vec(),
            prefer: self.request.prefer,
            installed: self.request.installed.clone(),
            today: self.request.today.clone(),
        }
    }

    /// Whether anything meets these wishes, as far as is known.
    pub fn hold(&mut self, wishes: &[Wish]) -> bool {
        self.hold_within(wishes, Tolerance::LOOSEST)
    }

    /// The same, alone or together with some GPUs: an old driver may only do because the GPUs are data-centre
    /// cards.
    fn hold_with(&mut self, wishes: &[Wish], gpus: &[Wish]) -> bool {
        self.hold(wishes) || with_gpus(wishes, gpus).is_some_and(|more| self.hold(&more))
    }

    /// Whether anything meets these wishes without more to be put up with.
    pub fn hold_within(&mut self, wishes: &[Wish], tolerance: Tolerance) -> bool {
        self.searches += 1;
        search::any_within(self.world, &self.with(wishes), tolerance, None).is_some()
    }

    /// Some stack that meets these wishes with as little to be put up with as there must be.
    pub fn any(&mut self, wishes: &[Wish]) -> Option<(Choice<'w>, Tolerance)> {
        let request = self.with(wishes);
        Tolerance::ALL.into_iter().find_map(|tolerance| {
            self.searches += 1;
            Some((search::any_within(self.world, &request, tolerance, None)?, tolerance))
        })
    }

    /// The best that meets these wishes.
    pub fn best(&mut self, wishes: &[Wish]) -> Option<(Choice<'w>, Tolerance)> {
        self.searches += 1;
        search::best(self.world, &self.with(wishes), None)
    }
}

/// The wishes, each once, in an order that does not depend on theirs.
pub(super) fn distinct(request: &Request) -> Vec<Wish> {
    let mut wishes: Vec<Wish> = Vec::new();
    let mut sorted: Vec<&Wish> = request.wishes.iter().collect();
    sorted.sort_by_key(|wish| (place(&wish.want), &wish.source));
    for wish in sorted {
        if !wishes.iter().any(|known| known.want == wish.want) {
            wishes.push(wish.clone());
        }
    }
    wishes
}

/// The order in which requirements are listed.
fn place(want: &Want) -> u8 {
    match want {
        Want::Torch(_) => 0,
        Want::Cuda(_) => 1,
        Want::Python(_) => 2,
        Want::Package(..) => 3,
        Want::Compile => 4,
        Want::Base(_) => 5,
        Want::System(_) => 6,
        Want::Architecture(_) => 7,
        Want::Gpu(_) => 8,
        Want::Driver(_) => 9,
    }
}

/// Wishes for a driver without the GPUs, together with these.
pub(super) fn with_gpus(wishes: &[Wish], gpus: &[Wish]) -> Option<Vec<Wish>> {
    let has_driver = wishes.iter().any(|wish| matches!(wish.want, Want::Driver(_)));
    let missing: Vec<&Wish> = gpus.iter().filter(|gpu| !wishes.contains(gpu)).collect();
    (has_driver && !missing.is_empty()).then(|| wishes.iter().chain(missing).cloned().collect())
}

/// The wishes for GPUs.
pub(super) fn gpus(wishes: &[Wish]) -> Vec<Wish> {
    wishes.iter().filter(|wish| matches!(wish.want, Want::Gpu(_))).cloned().collect()
}

/// A set of wishes that cannot hold together while every smaller part of it can; a smallest one where it is
/// found in time.
pub(super) fn smallest(searcher: &mut Searcher, wishes: &[Wish]) -> Vec<Wish> {
    let gpus = gpus(wishes);
    if let Some(single) = wishes.iter().find(|wish| !searcher.hold_with(std::slice::from_ref(wish), &gpus)) {
        return vec![single.clone()];
    }
    let mut core = wishes.to_vec();
    let mut place = 0;
    while place < core.len() {
        let mut fewer = core.clone();
        fewer.remove(place);
        if searcher.hold_with(&fewer, &gpus) { place += 1 } else { core = fewer }
    }
    let end = searcher.searches + SEARCHES;
    (2..core.len()).find_map(|size| subset(searcher, wishes, &gpus, size, end)).unwrap_or(core)
}

/// A set of this size that cannot hold together, unless the searches are used up before.
fn subset(
    searcher: &mut Searcher,
    wishes: &[Wish],
    gpus: &[Wish],
    size: usize,
    end: usize,
) -> Option<Vec<Wish>> {
    let mut places: Vec<usize> = (0..size).collect();
    loop {
        if searcher.searches >= end {
            return None;
        }
        let chosen: Vec<Wish> = places.iter().map(|&place| wishes[place].clone()).collect();
        if !searcher.hold_with(&chosen, gpus) {
            return Some(chosen);
        }
        // The next combination.
        let last = (0..size).rev().find(|&at| places[at] < wishes.len() - size + at)?;
        places[last] += 1;
        for at in last + 1..size {
            places[at] = places[at - 1] + 1;
        }
    }
}
