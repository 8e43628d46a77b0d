//! Why wishes cannot hold together: what the constraints say of the candidates that the wishes leave, in few sentences.

use std::collections::{BTreeMap, BTreeSet};

use super::super::answer::Reason;
use super::super::constraint::{Judge, Judgement, Place, Tolerance};
use super::super::constraints::CONSTRAINTS;
use super::super::request::Request;
use super::super::wanted::Wanted;
use super::super::world::{Base, Build, Python, World};
use super::super::{rank, search};
use super::{builds, packages, places};

/// Constraints that repeat the wishes: a candidate that they refuse was not left by the wishes.
pub(super) const ASKED_FOR: &[&str] =
    &["torch-asked-for", "python-asked-for", "base-asked-for", "package-asked-for"];

/// What a constraint says of a candidate that it refuses.
#[derive(Debug, Clone)]
pub(super) struct Refusal<'w> {
    pub constraint: &'static str,
    pub build: &'w Build,
    pub python: Option<&'w Python>,
    pub base: Option<&'w Base>,
    pub says: String,
}

/// The candidates of one kind, given what was chosen before them.
#[derive(Debug, Default)]
pub(super) struct Stage<'w, T> {
    /// Which the wishes leave.
    pub left: Vec<T>,
    /// Which all constraints let pass.
    pub passing: Vec<T>,
    /// What the constraints say of the others.
    pub refused: Vec<Refusal<'w>>,
}

/// The reasons why the wishes of a request cannot hold together.
pub(super) fn reasons(world: &World, core: &Request) -> Vec<Reason> {
    let wanted = Wanted::of(core);
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
    if wanted.python.is_empty() && of_packages.iter().any(|one| one.constraint.contains("python")) {
        all.extend(of_python);
    }
    all.extend(of_packages);
    all
}

/// Judges a candidate: `None` where a wish leaves it out, else what fails.
fn judge(mut judge: impl FnMut(&Judge) -> Option<Judgement>) -> Option<Vec<(&'static str, String)>> {
    let mut failed = Vec::new();
    for constraint in CONSTRAINTS {
        if let Some(Judgement::Fails(says)) = judge(&constraint.judge) {
            if ASKED_FOR.contains(&constraint.id) {
                return None;
            }
            failed.push((constraint.id, says));
        }
    }
    Some(failed)
}

pub(super) fn torch_stage<'w>(world: &'w World, wanted: &Wanted) -> Stage<'w, &'w Build> {
    let mut stage = Stage { left: vec![], passing: vec![], refused: vec![] };
    for build in world.candidates(wanted) {
        let of = |kind: &Judge| match kind {
            Judge::Build(judge) => Some(judge(wanted, build)),
            _ => None,
        };
        let Some(failed) = judge(of) else { continue };
        stage.left.push(build);
        if failed.is_empty() {
            stage.passing.push(build);
        }
        stage.refused.extend(failed.into_iter().map(refusal(build, None, None)));
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
            let Some(failed) = judge(of) else { continue };
            stage.left.push((build, python));
            if failed.is_empty() {
                stage.passing.push((build, python));
            }
            stage.refused.extend(failed.into_iter().map(refusal(build, Some(python), None)));
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
            let Some(failed) = judge(of) else { continue };
            stage.left.push(base);
            let alone = failed.is_empty();
            stage.refused.extend(failed.into_iter().map(refusal(build, None, Some(base))));
            for &(_, python) in pythons.iter().filter(|_| alone) {
                let of = |kind: &Judge| match kind {
                    Judge::Place(judge) => Some(judge(wanted, &Place { build, python, base })),
                    _ => None,
                };
                let failed = judge(of).unwrap_or_default();
                if failed.is_empty() {
                    stage.passing.push(base);
                }
                stage.refused.extend(failed.into_iter().map(refusal(build, Some(python), Some(base))));
            }
            if !restricted && !stage.passing.is_empty() {
                return stage;
            }
        }
    }
    stage
}

fn refusal<'w>(
    build: &'w Build,
    python: Option<&'w Python>,
    base: Option<&'w Base>,
) -> impl Fn((&'static str, String)) -> Refusal<'w> {
    move |(constraint, says)| Refusal { constraint, build, python, base, says }
}

/// Of the constraints that refuse candidates only so many that each candidate is refused by one of them: one that refuses all
/// says it all.
pub(super) fn essential<'w>(refused: &[Refusal<'w>]) -> Vec<Refusal<'w>> {
    type Key = (*const Build, *const Python, *const Base);
    let key = |refusal: &Refusal| -> Key {
        let python = refusal.python.map_or(std::ptr::null(), std::ptr::from_ref);
        (refusal.build, python, refusal.base.map_or(std::ptr::null(), std::ptr::from_ref))
    };
    let all: BTreeSet<Key> = refused.iter().map(key).collect();
    let covered = |ids: &[&str]| {
        let of = refused.iter().filter(|refusal| ids.contains(&refusal.constraint));
        of.map(key).collect::<BTreeSet<Key>>().len() == all.len()
    };
    let ids = needed(refused.iter().map(|refusal| refusal.constraint), covered);
    refused.iter().filter(|refusal| ids.contains(&refusal.constraint)).cloned().collect()
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

/// Sentences that are alike but for the names in them become one: names and versions are replaced by marks, and what is left
/// decides. The order is that of the first of each.
pub(super) fn grouped<T>(all: &[T], key: impl Fn(&T) -> String) -> Vec<(String, Vec<&T>)> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(String, Vec<&T>)> = Vec::new();
    for one in all {
        let name = key(one);
        let place = *places.entry(name.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((name, Vec::new()));
        }
        groups[place].1.push(one);
    }
    groups
}
