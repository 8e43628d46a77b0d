//! Why a candidate is refused, judged again: the same functions as in the search, in the same tolerance.

use std::ptr;

use super::Explainer;
use crate::constraint::{Constraint, Environment, Judge};
use crate::constraints::{CONSTRAINTS, requested};
use crate::rank;
use crate::search::Rejected;
use crate::universe::{Base, Build, Python, Release, Universe};
use crate::verdict::{Candidate, Judgement, Reason};

impl<'u> Explainer<'u, '_> {
    fn reasons(
        &self,
        candidate: Candidate<'u>,
        judge: impl Fn(&Constraint) -> Option<Judgement>,
    ) -> Vec<Reason<'u>> {
        let reason = |constraint: &Constraint| {
            let objection = judge(constraint)?.objection(self.tolerance)?;
            Some(Reason { constraint: constraint.id, objection, candidate })
        };
        CONSTRAINTS.iter().filter_map(reason).collect()
    }

    /// Why a build is refused whatever else is chosen.
    pub(super) fn build(&self, build: &'u Build) -> Vec<Reason<'u>> {
        let candidate = Candidate { build: Some(build), ..Candidate::default() };
        self.reasons(candidate, |constraint| match constraint.judge {
            Judge::Build(judge) => Some(judge(&self.criteria, build)),
            _ => None,
        })
    }

    /// Why a Python is refused with a build.
    pub(super) fn python(&self, build: &'u Build, python: &'u Python) -> Vec<Reason<'u>> {
        let (build_of, python_of) = (Some(build), Some(python));
        let candidate = Candidate { build: build_of, python: python_of, ..Candidate::default() };
        self.reasons(candidate, |constraint| match constraint.judge {
            Judge::Python(judge) => Some(judge(&self.criteria, build, python)),
            _ => None,
        })
    }

    /// Why a base image is refused with a build and a Python.
    pub(super) fn base(&self, build: &'u Build, python: &'u Python, base: &'u Base) -> Vec<Reason<'u>> {
        let environment = Environment { build, python, base };
        self.reasons(environment.candidate(None), |constraint| match constraint.judge {
            Judge::Base(judge) => Some(judge(&self.criteria, build, base)),
            Judge::Environment(judge) => Some(judge(&self.criteria, &environment)),
            _ => None,
        })
    }

    /// Why a release of a package is refused with everything else that was chosen.
    pub(super) fn package(&self, release: &'u Release) -> Vec<Reason<'u>> {
        let (criteria, environment) = (&self.criteria, &self.choice.environment);
        let others: Vec<&Release> =
            self.choice.packages.iter().copied().filter(|other| other.package != release.package).collect();
        let candidate = environment.candidate(Some(release));
        let mut all = Vec::new();
        for constraint in CONSTRAINTS {
            let mut add = |judgement: Judgement| {
                let objection = judgement.objection(self.tolerance);
                all.extend(objection.map(|objection| Reason {
                    constraint: constraint.id,
                    objection,
                    candidate,
                }));
            };
            match constraint.judge {
                Judge::Build(_) | Judge::Python(_) | Judge::Base(_) | Judge::Environment(_) => {}
                Judge::Package(judge) => add(judge(criteria, release)),
                Judge::PackageBuild(judge) => add(judge(criteria, environment.build, release)),
                Judge::PackagePython(judge) => add(judge(criteria, environment.python, release)),
                Judge::PackageWheel(judge) => {
                    add(judge(criteria, environment.build, environment.python, release))
                }
                Judge::PackageEnvironment(judge) => add(judge(criteria, environment, release)),
                Judge::Packages(judge) => {
                    others.iter().for_each(|other| add(judge(criteria, environment, release, other)));
                }
            }
        }
        all
    }

    /// Why no stack has this build, which ranks before the chosen one. Empty where that cannot be said in a
    /// sentence.
    pub(super) fn whole_build(&self, universe: &'u Universe, build: &'u Build) -> Vec<Reason<'u>> {
        let direct = self.build(build);
        if !direct.is_empty() {
            return direct;
        }
        let pythons: Vec<(&Python, Vec<Reason>)> =
            universe.pythons.iter().map(|python| (python, self.python(build, python))).collect();
        let open: Vec<&Python> =
            pythons.iter().filter(|(_, reasons)| reasons.is_empty()).map(|(python, _)| *python).collect();
        if open.is_empty() {
            return apart_from_requirements(
                pythons.into_iter().map(|(_, reasons)| reasons),
                requested::PYTHON.id,
            );
        }
        let mut refused = Vec::new();
        for tier in rank::TIERS {
            for base in rank::bases(universe, &self.criteria, build, tier) {
                for python in &open {
                    let reasons = self.base(build, python, base);
                    if reasons.is_empty() {
                        return self.packages(build);
                    }
                    refused.push(reasons);
                }
            }
        }
        apart_from_requirements(refused.into_iter(), requested::BASE.id)
    }

    /// Why no packages go with a build: of a package that is refused in every release, the newest one
    /// that was requested.
    fn packages(&self, build: &Build) -> Vec<Reason<'u>> {
        let here = |entry: &&Rejected| entry.candidate.build.is_some_and(|one| ptr::eq(one, build));
        let mut reasons: Vec<Reason<'u>> = Vec::new();
        for package in self.choice.packages.iter().map(|release| release.package) {
            let requested = |entry: &&Rejected| {
                entry.candidate.release.is_some_and(|release| release.package == package)
                    && entry.reasons.iter().all(|reason| reason.constraint != requested::PACKAGE.id)
            };
            let reason = self
                .trace
                .rejected
                .iter()
                .filter(here)
                .find(requested)
                .and_then(|entry| entry.reasons.first());
            let known = |reason: &Reason| {
                let same =
                    |one: &Reason| (one.constraint, &one.objection) == (reason.constraint, &reason.objection);
                reasons.iter().any(same)
            };
            reasons.extend(reason.filter(|reason| !known(reason)).cloned());
        }
        reasons.truncate(2);
        reasons
    }
}

/// The reasons of candidates that were requested; of all if none was. Each once.
fn apart_from_requirements<'u>(
    all: impl Iterator<Item = Vec<Reason<'u>>>,
    requirement: &str,
) -> Vec<Reason<'u>> {
    let all: Vec<Vec<Reason>> = all.collect();
    let requested = |reasons: &&Vec<Reason>| reasons.iter().all(|reason| reason.constraint != requirement);
    let chosen: Vec<&Vec<Reason>> = all.iter().filter(requested).collect();
    let mut chosen = if chosen.is_empty() { all.iter().collect() } else { chosen };
    // What keeps the best of them away: a gap rather than what fails for sure.
    let severity = |reasons: &Vec<Reason>| reasons.iter().map(|reason| reason.objection.severity()).max();
    let least = chosen.iter().map(|reasons| severity(reasons)).min().flatten();
    chosen.retain(|reasons| severity(reasons) == least);
    let mut each: Vec<Reason> = Vec::new();
    for reason in chosen.into_iter().filter_map(|reasons| reasons.first()) {
        if !each.iter().any(|known| known.constraint == reason.constraint) {
            each.push(reason.clone());
        }
    }
    each
}
