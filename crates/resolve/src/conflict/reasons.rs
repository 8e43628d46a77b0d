//! Why requirements cannot hold together: what the constraints say of the candidates that the requirements
//! leave, in few sentences.

use std::collections::BTreeSet;

use super::super::constraint::{Environment, Judge};
use super::super::constraints::{CONSTRAINTS, nvcc, requested};
use super::super::criteria::Criteria;
use super::super::outcome::Reason;
use super::super::request::Request;
use super::super::universe::{Base, Build, Python, Universe};
use super::super::verdict::Tolerance;
use super::super::verdict::{Candidate, Judgement, Objection, Reason as Refused, Refusal};
use super::super::{rank, search};
use super::{builds, environment, packages};

/// Constraints that repeat the requirements: a candidate that they refuse was not left by the requirements.
pub(super) const ASKED_FOR: &[&str] =
    &[requested::BUILD.id, requested::PYTHON.id, requested::BASE.id, requested::PACKAGE.id];

/// The candidates of one kind, given what was chosen before them.
#[derive(Debug, Default)]
pub(super) struct Stage<'u, T> {
    pub left: Vec<T>,
    /// Which all constraints let pass.
    pub passing: Vec<T>,
    /// Why the constraints refuse the others.
    pub refused: Vec<Refused<'u>>,
}

/// The reasons why `core`, requirements of the whole request, cannot hold together.
pub(super) fn reasons(universe: &Universe, core: &Request, whole: &Request) -> Vec<Reason> {
    let criteria = Criteria::from_request(universe.catalog, core);
    let torch = torch_stage(universe, &criteria);
    if torch.left.is_empty() {
        return vec![builds::none_left(universe, &criteria)];
    }
    let mut all = builds::reasons(universe, &criteria, &torch);
    if torch.passing.is_empty() {
        return all;
    }
    let python = python_stage(universe, &criteria, &torch.passing);
    if python.left.is_empty() {
        return vec![environment::no_python(&criteria)];
    }
    let of_python = environment::python_reasons(universe, &criteria, &python);
    // Where any torch will do, it does not matter which of them have no wheel.
    let of_python =
        match python.passing.is_empty() || torch.passing.len() < universe.candidates(&criteria).len() {
            true => of_python,
            false => Vec::new(),
        };
    if python.passing.is_empty() {
        all.extend(of_python);
        return all;
    }
    let base = base_stage(universe, &criteria, &python.passing);
    if base.left.is_empty() {
        all.push(environment::no_base(universe, &criteria, &python.passing));
        return all;
    }
    let mut of_base = environment::base_reasons(
        universe,
        &base,
        base.passing.is_empty() || torch.passing.len() < universe.candidates(&criteria).len(),
    );
    let no_nvcc = environment::no_nvcc(universe, &criteria, &python.passing);
    if base.passing.is_empty() && !no_nvcc.is_empty() {
        of_base.retain(|reason| reason.constraint == nvcc::CONSTRAINT.id);
        of_base.splice(0..0, no_nvcc);
    }
    if !criteria.python.is_empty() {
        all.extend(of_python.iter().cloned());
    }
    if base.passing.is_empty() || !criteria.bases.is_empty() || !criteria.systems.is_empty() {
        all.extend(of_base);
    }
    if base.passing.is_empty() {
        return all;
    }
    let mut trace = search::Trace::default();
    search::any_within(universe, core, Tolerance::LOOSEST, Some(&mut trace));
    let of_packages = packages::reasons(universe, whole, &criteria, &trace);
    // A package refuses a Python that torch leaves no choice about.
    if criteria.python.is_empty() && of_packages.of_python {
        all.extend(of_python);
    }
    all.extend(of_packages.all);
    all
}

/// Judges a candidate: `None` where a requirement leaves it out, else what fails.
fn judge<'u>(
    candidate: Candidate<'u>,
    judge: impl Fn(&Judge) -> Option<Judgement>,
) -> Option<Vec<Refused<'u>>> {
    let mut failed = Vec::new();
    for constraint in CONSTRAINTS {
        if let Some(Judgement::Fails(refusal)) = judge(&constraint.judge) {
            if ASKED_FOR.contains(&constraint.id) {
                return None;
            }
            let objection = Objection::Refusal(refusal);
            failed.push(Refused { constraint: constraint.id, objection, candidate });
        }
    }
    Some(failed)
}

impl Refused<'_> {
    /// What fails. The reasons of a conflict are refusals: its search allows everything else.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        match &self.objection {
            Objection::Refusal(refusal) => Some(refusal),
            Objection::Cost(_) | Objection::Gap(_) => None,
        }
    }
}

pub(super) fn torch_stage<'u>(universe: &'u Universe, criteria: &Criteria) -> Stage<'u, &'u Build> {
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    for build in universe.candidates(criteria) {
        let of = |kind: &Judge| match kind {
            Judge::Build(judge) => Some(judge(criteria, build)),
            _ => None,
        };
        let candidate = Candidate { build: Some(build), ..Candidate::default() };
        let Some(failed) = judge(candidate, of) else { continue };
        stage.left.push(build);
        if failed.is_empty() {
            stage.passing.push(build);
        }
        stage.refused.extend(failed);
    }
    stage
}

pub(super) fn python_stage<'u>(
    universe: &'u Universe,
    criteria: &Criteria,
    builds: &[&'u Build],
) -> Stage<'u, (&'u Build, &'u Python)> {
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    for &build in builds {
        for python in &universe.pythons {
            let of = |kind: &Judge| match kind {
                Judge::Python(judge) => Some(judge(criteria, build, python)),
                _ => None,
            };
            let candidate = Candidate { build: Some(build), python: Some(python), ..Candidate::default() };
            let Some(failed) = judge(candidate, of) else { continue };
            stage.left.push((build, python));
            if failed.is_empty() {
                stage.passing.push((build, python));
            }
            stage.refused.extend(failed);
        }
    }
    stage
}

/// Base images, alone and with their Pythons. Where the requirements leave all of them, one that passes is
/// enough.
fn base_stage<'u>(
    universe: &'u Universe,
    criteria: &Criteria,
    candidates: &[(&'u Build, &'u Python)],
) -> Stage<'u, &'u Base> {
    let restricted = !criteria.bases.is_empty() || !criteria.systems.is_empty();
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    let of_build = candidates.chunk_by(|one, other| std::ptr::eq(one.0, other.0));
    for (build, pythons) in of_build.filter_map(|candidates| Some((candidates.first()?.0, candidates))) {
        for base in rank::TIERS.iter().flat_map(|tier| rank::bases(universe, criteria, build, *tier)) {
            let of = |kind: &Judge| match kind {
                Judge::Base(judge) => Some(judge(criteria, build, base)),
                _ => None,
            };
            let candidate = Candidate { build: Some(build), base: Some(base), ..Candidate::default() };
            let Some(failed) = judge(candidate, of) else { continue };
            stage.left.push(base);
            let alone = failed.is_empty();
            stage.refused.extend(failed);
            for &(_, python) in pythons.iter().filter(|_| alone) {
                let environment = Environment { build, python, base };
                let of = |kind: &Judge| match kind {
                    Judge::Environment(judge) => Some(judge(criteria, &environment)),
                    _ => None,
                };
                let failed = judge(environment.candidate(None), of).unwrap_or_default();
                if failed.is_empty() {
                    stage.passing.push(base);
                }
                stage.refused.extend(failed);
            }
            if !restricted && !stage.passing.is_empty() {
                return stage;
            }
        }
    }
    stage
}

/// Of the constraints that refuse candidates only so many that each candidate is refused by one of them: one
/// that refuses all says it all.
pub(super) fn essential<'u>(refused: &[Refused<'u>]) -> Vec<Refused<'u>> {
    type Key = (*const Build, *const Python, *const Base);
    let key = |refused: &Refused| -> Key {
        let Candidate { build, python, base, .. } = refused.candidate;
        (address(build), address(python), address(base))
    };
    let all: BTreeSet<Key> = refused.iter().map(key).collect();
    let covered = |ids: &[&str]| {
        let of = refused.iter().filter(|refused| ids.contains(&refused.constraint));
        of.map(key).collect::<BTreeSet<Key>>().len() == all.len()
    };
    let ids = needed(refused.iter().map(|refused| refused.constraint), covered);
    refused.iter().filter(|refused| ids.contains(&refused.constraint)).cloned().collect()
}

fn address<T>(part: Option<&T>) -> *const T {
    part.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// As few of some ids as are enough: one if one is, else none that can be left out.
pub(super) fn needed<'a>(
    ids: impl Iterator<Item = &'a str>,
    enough: impl Fn(&[&'a str]) -> bool,
) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for id in ids {
        if !all.contains(&id) {
            all.push(id);
        }
    }
    if let Some(one) = all.iter().find(|one| enough(&[**one])) {
        return vec![*one];
    }
    for index in (0..all.len()).rev() {
        let mut fewer = all.clone();
        fewer.remove(index);
        if enough(&fewer) {
            all = fewer;
        }
    }
    all
}

/// The elements with the same key together, in the order of the first of each.
pub(super) fn grouped<T, K: PartialEq>(all: &[T], key: impl Fn(&T) -> K) -> Vec<(K, Vec<&T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for one in all {
        let key = key(one);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups
}
