//! Why wishes cannot hold together: what the constraints say of the candidates that the wishes leave, in few
//! sentences.

use std::collections::BTreeSet;

use super::super::answer::Reason;
use super::super::constraint::{Judge, Place};
use super::super::constraints::CONSTRAINTS;
use super::super::request::Request;
use super::super::verdict::Tolerance;
use super::super::verdict::{Candidate, Judgement, Objection, Reason as Refused, Refusal};
use super::super::wanted::Wanted;
use super::super::world::{Base, Build, Python, World};
use super::super::{rank, search};
use super::{builds, packages, places};

/// Constraints that repeat the wishes: a candidate that they refuse was not left by the wishes.
pub(super) const ASKED_FOR: &[&str] =
    &["torch-asked-for", "python-asked-for", "base-asked-for", "package-asked-for"];

/// Constraints on packages that may fail because of the Python alone.
const OF_PYTHON: &[&str] =
    &["package-wheel-for-python", "flash-attn-wheel-for-python", "torch-incompatible-on-python"];

/// The candidates of one kind, given what was chosen before them.
#[derive(Debug, Default)]
pub(super) struct Stage<'w, T> {
    /// Which the wishes leave.
    pub left: Vec<T>,
    /// Which all constraints let pass.
    pub passing: Vec<T>,
    /// Why the constraints refuse the others.
    pub refused: Vec<Refused<'w>>,
}

/// The reasons why the wishes of a request cannot hold together.
pub(super) fn reasons(world: &World, core: &Request) -> Vec<Reason> {
    let wanted = Wanted::of(world.catalog, core);
    let torch = torch_stage(world, &wanted);
    if torch.left.is_empty() {
        return vec![builds::none_left(world, &wanted)];
    }
    let mut all = builds::reasons(world, &wanted, &torch);
    if torch.passing.is_empty() {
        return all;
    }
    let python = python_stage(world, &wanted, &torch.passing);
    if python.left.is_empty() {
        return vec![places::no_python(&wanted)];
    }
    let of_python = places::python_reasons(world, &wanted, &python);
    // Where any torch will do, it does not matter which of them have no wheel.
    let of_python = match python.passing.is_empty() || torch.passing.len() < world.candidates(&wanted).len() {
        true => of_python,
        false => Vec::new(),
    };
    if python.passing.is_empty() {
        all.extend(of_python);
        return all;
    }
    let base = base_stage(world, &wanted, &python.passing);
    if base.left.is_empty() {
        all.push(places::no_base(world, &wanted, &python.passing));
        return all;
    }
    let mut of_base = places::base_reasons(
        world,
        &base,
        base.passing.is_empty() || torch.passing.len() < world.candidates(&wanted).len(),
    );
    let no_nvcc = places::no_nvcc(world, &wanted, &python.passing);
    if base.passing.is_empty() && !no_nvcc.is_empty() {
        of_base.retain(|reason| reason.constraint == "nvcc-needed");
        of_base.splice(0..0, no_nvcc);
    }
    if !wanted.python.is_empty() {
        all.extend(of_python.iter().cloned());
    }
    if base.passing.is_empty() || !wanted.bases.is_empty() || !wanted.systems.is_empty() {
        all.extend(of_base);
    }
    if base.passing.is_empty() {
        return all;
    }
    let mut trace = search::Trace::default();
    search::any_within(world, core, Tolerance::LOOSEST, Some(&mut trace));
    let of_packages = packages::reasons(world, &wanted, &trace);
    // A package refuses a Python that torch leaves no choice about.
    if wanted.python.is_empty() && of_packages.iter().any(|one| OF_PYTHON.contains(&one.constraint.as_str()))
    {
        all.extend(of_python);
    }
    all.extend(of_packages);
    all
}

/// Judges a candidate: `None` where a wish leaves it out, else what fails.
fn judge<'w>(
    candidate: Candidate<'w>,
    judge: impl Fn(&Judge) -> Option<Judgement>,
) -> Option<Vec<Refused<'w>>> {
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

pub(super) fn torch_stage<'w>(world: &'w World, wanted: &Wanted) -> Stage<'w, &'w Build> {
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    for build in world.candidates(wanted) {
        let of = |kind: &Judge| match kind {
            Judge::Build(judge) => Some(judge(wanted, build)),
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

pub(super) fn python_stage<'w>(
    world: &'w World,
    wanted: &Wanted,
    builds: &[&'w Build],
) -> Stage<'w, (&'w Build, &'w Python)> {
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    for &build in builds {
        for python in &world.pythons {
            let of = |kind: &Judge| match kind {
                Judge::Python(judge) => Some(judge(wanted, build, python)),
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

/// Base images, alone and with their Pythons. Where the wishes leave all of them, one that passes is enough.
fn base_stage<'w>(
    world: &'w World,
    wanted: &Wanted,
    places: &[(&'w Build, &'w Python)],
) -> Stage<'w, &'w Base> {
    let restricted = !wanted.bases.is_empty() || !wanted.systems.is_empty();
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    let of_build = places.chunk_by(|one, other| std::ptr::eq(one.0, other.0));
    for (build, pythons) in of_build.filter_map(|places| Some((places.first()?.0, places))) {
        for base in rank::TIERS.iter().flat_map(|tier| rank::bases(world, wanted, build, *tier)) {
            let of = |kind: &Judge| match kind {
                Judge::Base(judge) => Some(judge(wanted, build, base)),
                _ => None,
            };
            let candidate = Candidate { build: Some(build), base: Some(base), ..Candidate::default() };
            let Some(failed) = judge(candidate, of) else { continue };
            stage.left.push(base);
            let alone = failed.is_empty();
            stage.refused.extend(failed);
            for &(_, python) in pythons.iter().filter(|_| alone) {
                let place = Place { build, python, base };
                let of = |kind: &Judge| match kind {
                    Judge::Place(judge) => Some(judge(wanted, &place)),
                    _ => None,
                };
                let failed = judge(place.candidate(None), of).unwrap_or_default();
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
pub(super) fn essential<'w>(refused: &[Refused<'w>]) -> Vec<Refused<'w>> {
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
    for place in (0..all.len()).rev() {
        let mut fewer = all.clone();
        fewer.remove(place);
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
