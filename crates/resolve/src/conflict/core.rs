//! Minimal sets of incompatible requirements.

use std::collections::HashMap;

use super::super::request::{Request, Requirement, RequirementKind};
use super::super::search::{self, Choice};
use super::super::universe::Universe;
use super::super::verdict::Tolerance;

/// How many searches may be spent on looking for a smaller set than one that is minimal already.
const SEARCHES: usize = 60;

/// Searches with some of the requirements of a request, and counts them.
pub(super) struct Searcher<'u, 'r> {
    pub universe: &'u Universe,
    pub request: &'r Request,
    /// Searches made so far.
    pub searches: usize,
    /// The requirements of the request, each once: a set of them is known by the bits of their positions.
    distinct: Vec<Requirement>,
    /// Which sets hold together: conflicts that share requirements ask about the same ones.
    held: HashMap<u64, bool>,
}

impl<'u, 'r> Searcher<'u, 'r> {
    pub(super) fn new(universe: &'u Universe, request: &'r Request) -> Searcher<'u, 'r> {
        Searcher { universe, request, searches: 0, distinct: distinct(request), held: HashMap::new() }
    }

    /// The request with other requirements.
    pub(super) fn with(&self, requirements: &[Requirement]) -> Request {
        Request {
            requirements: requirements.to_vec(),
            prefer: self.request.prefer,
            installed: self.request.installed.clone(),
            today: self.request.today.clone(),
        }
    }

    /// Whether anything meets these requirements, as far as is known.
    pub(super) fn hold(&mut self, requirements: &[Requirement]) -> bool {
        let Some(set) = self.set(requirements) else {
            return self.hold_within(requirements, Tolerance::LOOSEST);
        };
        if let Some(known) = self.held.get(&set) {
            return *known;
        }
        let holds = self.hold_within(requirements, Tolerance::LOOSEST);
        self.held.insert(set, holds);
        holds
    }

    /// The bits of some requirements; `None` if one is not of the request, or there are too many.
    fn set(&self, requirements: &[Requirement]) -> Option<u64> {
        let position = |one| self.distinct.iter().position(|known| known == one);
        requirements.iter().try_fold(0, |set, one| {
            let bit = u32::try_from(position(one)?).ok()?;
            Some(set | 1_u64.checked_shl(bit)?)
        })
    }

    /// The same, alone or together with some GPUs: an old driver may only do because the GPUs are data-centre
    /// cards.
    fn hold_with(&mut self, requirements: &[Requirement], gpus: &[Requirement]) -> bool {
        self.hold(requirements) || with_gpus(requirements, gpus).is_some_and(|more| self.hold(&more))
    }

    /// Whether any stack meets these requirements within the same tolerance.
    pub(super) fn hold_within(&mut self, requirements: &[Requirement], tolerance: Tolerance) -> bool {
        self.searches += 1;
        search::any_within(self.universe, &self.with(requirements), tolerance, None).is_some()
    }

    /// A stack that meets these requirements, with the smallest tolerance possible.
    pub(super) fn any(&mut self, requirements: &[Requirement]) -> Option<(Choice<'u>, Tolerance)> {
        let request = self.with(requirements);
        Tolerance::ALL.into_iter().find_map(|tolerance| {
            self.searches += 1;
            Some((search::any_within(self.universe, &request, tolerance, None)?, tolerance))
        })
    }

    /// The best that meets these requirements.
    pub(super) fn best(&mut self, requirements: &[Requirement]) -> Option<(Choice<'u>, Tolerance)> {
        self.searches += 1;
        search::best(self.universe, &self.with(requirements), None)
    }
}

/// The requirements, each once, in an order that does not depend on theirs.
pub(super) fn distinct(request: &Request) -> Vec<Requirement> {
    let mut requirements: Vec<Requirement> = Vec::new();
    let mut sorted: Vec<&Requirement> = request.requirements.iter().collect();
    sorted.sort_by_key(|requirement| (kind_order(&requirement.kind), &requirement.source));
    for requirement in sorted {
        if !requirements.iter().any(|known| known.kind == requirement.kind) {
            requirements.push(requirement.clone());
        }
    }
    requirements
}

/// The order in which requirements are listed.
fn kind_order(kind: &RequirementKind) -> u8 {
    match kind {
        RequirementKind::Torch(_) => 0,
        RequirementKind::Cuda(_) | RequirementKind::Cpu => 1,
        RequirementKind::Python(_) => 2,
        RequirementKind::Package(..) => 3,
        RequirementKind::Unchecked(_) => 10,
        RequirementKind::Compile => 4,
        RequirementKind::Base(_) => 5,
        RequirementKind::System(_) => 6,
        RequirementKind::Architecture(_) => 7,
        RequirementKind::Gpu(_) => 8,
        RequirementKind::Driver(_) => 9,
    }
}

/// Requirements on a driver without the GPUs, together with these.
pub(super) fn with_gpus(requirements: &[Requirement], gpus: &[Requirement]) -> Option<Vec<Requirement>> {
    let has_driver =
        requirements.iter().any(|requirement| matches!(requirement.kind, RequirementKind::Driver(_)));
    let missing: Vec<&Requirement> = gpus.iter().filter(|gpu| !requirements.contains(gpu)).collect();
    (has_driver && !missing.is_empty()).then(|| requirements.iter().chain(missing).cloned().collect())
}

pub(super) fn gpus(requirements: &[Requirement]) -> Vec<Requirement> {
    requirements
        .iter()
        .filter(|requirement| matches!(requirement.kind, RequirementKind::Gpu(_)))
        .cloned()
        .collect()
}

/// A set of requirements that cannot hold together while every smaller part of it can; a smallest one where
/// it is found in time.
pub(super) fn smallest(searcher: &mut Searcher, requirements: &[Requirement]) -> Vec<Requirement> {
    let gpus = gpus(requirements);
    if let Some(single) =
        requirements.iter().find(|requirement| !searcher.hold_with(std::slice::from_ref(requirement), &gpus))
    {
        return vec![single.clone()];
    }
    let mut core = requirements.to_vec();
    let mut index = 0;
    while index < core.len() {
        let mut fewer = core.clone();
        fewer.remove(index);
        if searcher.hold_with(&fewer, &gpus) { index += 1 } else { core = fewer }
    }
    let end = searcher.searches + SEARCHES;
    (2..core.len()).find_map(|size| subset(searcher, requirements, &gpus, size, end)).unwrap_or(core)
}

/// A set of this size that cannot hold together, unless the searches are used up before.
fn subset(
    searcher: &mut Searcher,
    requirements: &[Requirement],
    gpus: &[Requirement],
    size: usize,
    end: usize,
) -> Option<Vec<Requirement>> {
    let mut indices: Vec<usize> = (0..size).collect();
    loop {
        if searcher.searches >= end {
            return None;
        }
        let chosen: Vec<Requirement> = indices.iter().map(|&index| requirements[index].clone()).collect();
        if !searcher.hold_with(&chosen, gpus) {
            return Some(chosen);
        }
        // The next combination.
        let last = (0..size).rev().find(|&at| indices[at] < requirements.len() - size + at)?;
        indices[last] += 1;
        for at in last + 1..size {
            indices[at] = indices[at - 1] + 1;
        }
    }
}
