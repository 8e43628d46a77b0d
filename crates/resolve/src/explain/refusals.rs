//! Why a candidate is refused, judged again: the same functions as in the search, in the same tolerance.

use std::ptr;

use super::Answered;
use crate::constraint::{Constraint, Judge, Judgement, Place, Reason};
use crate::constraints::CONSTRAINTS;
use crate::rank;
use crate::search::refusal;
use crate::world::{Base, Build, Python, Release, World};

impl Answered<'_, '_> {
    fn reasons(&self, judge: impl Fn(&Constraint) -> Option<Judgement>) -> Vec<Reason> {
        CONSTRAINTS
            .iter()
            .filter_map(|constraint| refusal(constraint, &judge(constraint)?, self.tolerance))
            .collect()
    }

    /// Why a build is refused whatever else is chosen.
    pub(super) fn build(&self, build: &Build) -> Vec<Reason> {
        self.reasons(|constraint| match constraint.judge {
            Judge::Build(judge) => Some(judge(&self.wanted, build)),
            _ => None,
        })
    }

    /// Why a Python is refused with a build.
    pub(super) fn python(&self, build: &Build, python: &Python) -> Vec<Reason> {
        self.reasons(|constraint| match constraint.judge {
            Judge::Python(judge) => Some(judge(&self.wanted, build, python)),
            _ => None,
        })
    }

    /// Why a base image is refused with a build and a Python.
    pub(super) fn base(&self, build: &Build, python: &Python, base: &Base) -> Vec<Reason> {
        self.reasons(|constraint| match constraint.judge {
            Judge::Base(judge) => Some(judge(&self.wanted, build, base)),
            Judge::Place(judge) => Some(judge(&self.wanted, &Place { build, python, base })),
            _ => None,
        })
    }

    /// Why a release of a package is refused beside everything else that was chosen.
    pub(super) fn package(&self, release: &Release) -> Vec<Reason> {
        let (wanted, place) = (&self.wanted, &self.choice.place);
        let others: Vec<&Release> =
            self.choice.packages.iter().copied().filter(|other| other.package != release.package).collect();
        let mut all = Vec::new();
        for constraint in CONSTRAINTS {
            let mut add = |judgement: Judgement| all.extend(refusal(constraint, &judgement, self.tolerance));
            match constraint.judge {
                Judge::Build(_) | Judge::Python(_) | Judge::Base(_) | Judge::Place(_) => {}
                Judge::Package(judge) => add(judge(wanted, release)),
                Judge::PackageBuild(judge) => add(judge(wanted, place.build, release)),
                Judge::PackagePython(judge) => add(judge(wanted, place.python, release)),
                Judge::PackageWheel(judge) => add(judge(wanted, place.build, place.python, release)),
                Judge::PackagePlace(judge) => add(judge(wanted, place, release)),
                Judge::Packages(judge) => {
                    others.iter().for_each(|other| add(judge(wanted, place, release, other)));
                }
            }
        }
        all
    }

    /// Why no stack has this build, which ranks before the chosen one. Empty where that cannot be told in a sentence.
    pub(super) fn whole_build(&self, world: &World, build: &Build) -> Vec<Reason> {
        let direct = self.build(build);
        if !direct.is_empty() {
            return direct;
        }
        let pythons: Vec<(&Python, Vec<Reason>)> =
            world.pythons.iter().map(|python| (python, self.python(build, python))).collect();
        let open: Vec<&Python> =
            pythons.iter().filter(|(_, reasons)| reasons.is_empty()).map(|(python, _)| *python).collect();
        if open.is_empty() {
            return apart_from_wishes(pythons.into_iter().map(|(_, reasons)| reasons), "python-asked-for");
        }
        let mut refused = Vec::new();
        for tier in rank::TIERS {
            for base in rank::bases(world, &self.wanted, build, tier) {
                for python in &open {
                    let reasons = self.base(build, python, base);
                    if reasons.is_empty() {
                        return self.packages(build);
                    }
                    refused.push(reasons);
                }
            }
        }
        apart_from_wishes(refused.into_iter(), "base-asked-for")
    }

    /// Why no packages go with a build: of a package that is refused in every release, the newest one that was wished.
    fn packages(&self, build: &Build) -> Vec<Reason> {
        let entries = || {
            let here = |one: &Option<&'static _>| one.is_some_and(|one| ptr::eq(one, build.build));
            self.trace.rejected.iter().filter(move |entry| here(&entry.build))
        };
        let mut reasons: Vec<Reason> = Vec::new();
        for package in self.choice.packages.iter().map(|release| release.package) {
            let wished = |entry: &&crate::search::Rejected| {
                entry.package == Some(package)
                    && entry.reasons.iter().all(|reason| reason.constraint != "package-asked-for")
            };
            let reason = entries().find(wished).and_then(|entry| entry.reasons.first());
            reasons.extend(reason.filter(|reason| !reasons.contains(reason)).cloned());
        }
        reasons.truncate(2);
        reasons
    }
}

/// The reasons of candidates that were wished; of all where none was. Each once.
fn apart_from_wishes(all: impl Iterator<Item = Vec<Reason>>, wish: &str) -> Vec<Reason> {
    let all: Vec<Vec<Reason>> = all.collect();
    let wished = |reasons: &&Vec<Reason>| reasons.iter().all(|reason| reason.constraint != wish);
    let chosen: Vec<&Vec<Reason>> = all.iter().filter(wished).collect();
    let chosen = if chosen.is_empty() { all.iter().collect() } else { chosen };
    let mut each: Vec<Reason> = Vec::new();
    for reason in chosen.into_iter().filter_map(|reasons| reasons.first()) {
        if !each.iter().any(|known| known.constraint == reason.constraint) {
            each.push(reason.clone());
        }
    }
    each
}
