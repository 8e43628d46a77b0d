//! The best stack that meets every constraint.
//!
//! "Best" is a fixed order over whole stacks ([`super::rank`]): first what costs nothing and is known, then
//! the packages that were asked for by name, newest first, then the torch build, then Python and base image
//! together, then each other package in the order of the catalog, newest first. The search goes through the
//! candidates in exactly this order and takes the first that can be completed, so what it returns is the best
//! there is: a requirement less can never give a worse stack.

use std::collections::BTreeMap;

use catalog::Catalog;

use super::blame::{self, BASE, BUILD, Blame, PYTHON};
pub(crate) use super::choice::{Choice, Rejected, Trace};
use super::constraint::{Constraint, Environment, Judge};
use super::constraints::CONSTRAINTS;
use super::criteria::Criteria;
use super::near::{Distance, Near};
use super::rank;
use super::request::Request;
use super::universe::{Base, Build, Package, Python, Release, Universe};
use super::verdict::Tolerance;
use super::verdict::{Candidate, Judgement, Objection, Reason};

/// The package that is there in every stack: torch does little without it, and does not require it.
const ALWAYS: &str = "numpy";

/// The same for a build; an image with its own torch already contains what that torch uses.
fn always(build: &Build) -> Option<&'static str> {
    build.image.is_none().then_some(ALWAYS)
}

/// The best stack for a request, and the tolerance that it needs.
pub(crate) fn best<'u>(
    universe: &'u Universe,
    request: &Request,
    trace: Option<&mut Trace<'u>>,
) -> Option<(Choice<'u>, Tolerance)> {
    let criteria = Criteria::from_request(universe.catalog, request);
    best_within(universe, request, &criteria, trace)
}

/// The stack that is nearest to some versions: first torch, then Python, then the packages. Otherwise like
/// [`best`].
pub(crate) fn nearest<'u>(universe: &'u Universe, request: &Request, near: &Near) -> Option<Choice<'u>> {
    let criteria = Criteria { near: Some(near), ..Criteria::from_request(universe.catalog, request) };
    best_within(universe, request, &criteria, None).map(|(choice, _)| choice)
}

fn best_within<'u>(
    universe: &'u Universe,
    request: &Request,
    criteria: &Criteria,
    mut trace: Option<&mut Trace<'u>>,
) -> Option<(Choice<'u>, Tolerance)> {
    for (index, tolerance) in Tolerance::ALL.into_iter().enumerate() {
        if let Some(trace) = trace.as_deref_mut() {
            trace.rejected.clear();
        }
        // If the loosest tolerance finds nothing, those in between find nothing either.
        if index == 1 && any_within(universe, request, Tolerance::LOOSEST, trace.as_deref_mut()).is_none() {
            return None;
        }
        if let Some(trace) = trace.as_deref_mut() {
            trace.rejected.clear();
        }
        let trace = trace.as_deref_mut();
        let mut search = Search { universe, criteria, tolerance, fixed: Vec::new(), trace };
        if let Some(choice) = search.run() {
            return Some((search.with_newest(choice), tolerance));
        }
    }
    None
}

/// Any stack within a tolerance; not always the best.
pub(crate) fn any_within<'u>(
    universe: &'u Universe,
    request: &Request,
    tolerance: Tolerance,
    trace: Option<&mut Trace<'u>>,
) -> Option<Choice<'u>> {
    let criteria = &Criteria::from_request(universe.catalog, request);
    Search { universe, criteria, tolerance, fixed: Vec::new(), trace }.run()
}

/// A judgement on a part of a finished stack.
#[derive(Debug)]
pub(crate) struct Judged<'u> {
    pub constraint: &'static str,
    pub judgement: Judgement,
    pub candidate: Candidate<'u>,
}

/// Every judgement on a finished stack other than [`Judgement::Holds`].
pub(crate) fn judge<'u>(
    catalog: &'static Catalog,
    request: &Request,
    choice: &Choice<'u>,
) -> Vec<Judged<'u>> {
    let criteria = Criteria::from_request(catalog, request);
    let (environment, packages) = (choice.environment, &choice.packages);
    let mut all = Vec::new();
    for constraint in CONSTRAINTS {
        let mut add = |release: Option<&'u Release>, judgement: Judgement| {
            if judgement != Judgement::Holds {
                all.push(Judged {
                    constraint: constraint.id,
                    judgement,
                    candidate: environment.candidate(release),
                });
            }
        };
        match constraint.judge {
            Judge::Build(judge) => add(None, judge(&criteria, environment.build)),
            Judge::Python(judge) => add(None, judge(&criteria, environment.build, environment.python)),
            Judge::Base(judge) => add(None, judge(&criteria, environment.build, environment.base)),
            Judge::Environment(judge) => add(None, judge(&criteria, &environment)),
            Judge::Package(judge) => packages.iter().for_each(|one| add(Some(one), judge(&criteria, one))),
            Judge::PackageBuild(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&criteria, environment.build, one)));
            }
            Judge::PackagePython(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&criteria, environment.python, one)));
            }
            Judge::PackageWheel(judge) => {
                packages.iter().for_each(|one| {
                    add(Some(one), judge(&criteria, environment.build, environment.python, one))
                });
            }
            Judge::PackageEnvironment(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&criteria, &environment, one)));
            }
            Judge::Packages(judge) => {
                for (index, one) in packages.iter().enumerate() {
                    for other in &packages[..index] {
                        add(Some(one), judge(&criteria, &environment, one, other));
                    }
                }
            }
        }
    }
    all
}

struct Search<'u, 's> {
    universe: &'u Universe,
    criteria: &'s Criteria<'s>,
    tolerance: Tolerance,
    /// The releases to which packages are held.
    fixed: Vec<&'u Release>,
    trace: Option<&'s mut Trace<'u>>,
}

impl<'u> Search<'u, '_> {
    fn run(&mut self) -> Option<Choice<'u>> {
        for build in rank::builds(self.universe, self.criteria) {
            let criteria = self.criteria;
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Build(judge) => Some(judge(criteria, build)),
                _ => None,
            };
            if !self.passes(judge, Candidate { build: Some(build), ..Candidate::default() }) {
                continue;
            }
            match self.without_release(build, None) {
                Some(0) => return None,
                Some(_) => continue,
                None => {}
            }
            match self.complete(build) {
                Ok(choice) => return Some(choice),
                // Whatever the build: the packages do not go together.
                Err(blame) if blame & BUILD == 0 => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// The same with the newest releases of the packages that were asked for by name, where others than the
    /// chosen ones can be had: a package that requires a certain torch is not to give way to a torch that
    /// nobody named.
    fn with_newest(&mut self, mut choice: Choice<'u>) -> Choice<'u> {
        let trace = self.trace.take();
        let mut changed = false;
        for name in self.universe.order.iter().filter(|name| self.criteria.packages.contains_key(**name)) {
            let (Some(package), Some(mut chosen)) = (self.universe.package(name), choice.package(name))
            else {
                continue;
            };
            for release in rank::releases(package, self.criteria) {
                if std::ptr::eq(release, chosen) {
                    break;
                }
                self.fixed.push(release);
                let better = self.run();
                self.fixed.pop();
                let near = |one: &Choice| {
                    let Environment { build, python, .. } = one.environment;
                    rank::distance(self.criteria, build, python)
                };
                if let Some(better) = better.filter(|one| near(one) <= near(&choice)) {
                    (choice, chosen, changed) = (better, release, true);
                    break;
                }
            }
            self.fixed.push(chosen);
        }
        self.trace = trace;
        // What was refused on the way to this choice, not to the first one.
        if let Some(trace) = self.trace.as_deref_mut().filter(|_| changed) {
            trace.rejected.clear();
            self.run();
        }
        choice
    }

    /// The releases of a package that may be chosen, best first.
    fn releases(&self, package: &'u Package) -> Vec<&'u Release> {
        match self.fixed.iter().find(|fixed| fixed.package == package.name) {
            Some(fixed) => vec![fixed],
            None => rank::releases(package, self.criteria),
        }
    }

    /// Whether there is a package that is needed and has no release for this build, and this Python where one
    /// is given, whatever else is chosen; what that depends on.
    fn without_release(&mut self, build: &'u Build, python: Option<&'u Python>) -> Option<Blame> {
        let (universe, criteria, tolerance) = (self.universe, self.criteria, self.tolerance);
        let reasons = |release: &'u Release| -> Vec<(Blame, Reason<'u>)> {
            let candidate = Candidate { build: Some(build), python, base: None, release: Some(release) };
            let judge = |constraint: &Constraint| {
                let (on, judgement) = match (constraint.judge, python) {
                    (Judge::Package(judge), _) => (0, judge(criteria, release)),
                    (Judge::PackageBuild(judge), _) => (BUILD, judge(criteria, build, release)),
                    (Judge::PackagePython(judge), Some(python)) => (PYTHON, judge(criteria, python, release)),
                    (Judge::PackageWheel(judge), Some(python)) => {
                        (BUILD | PYTHON, judge(criteria, build, python, release))
                    }
                    _ => return None,
                };
                let objection = judgement.objection(tolerance)?;
                Some((on, Reason { constraint: constraint.id, objection, candidate }))
            };
            CONSTRAINTS.iter().filter_map(judge).collect()
        };
        let needed = criteria.packages.keys().copied().chain(always(build));
        let mut packages = needed.filter_map(|name| Some(self.releases(universe.package(name)?)));
        let none = packages.find(|releases| releases.iter().all(|one| !reasons(one).is_empty()))?;
        let mut blame = 0;
        for release in none {
            let reasons = reasons(release);
            blame |= reasons.iter().map(|(on, _)| *on).min().unwrap_or(0);
            if let Some(trace) = self.trace.as_deref_mut() {
                let reasons = reasons.into_iter().map(|(_, reason)| reason).collect();
                let candidate = Candidate { build: Some(build), python, base: None, release: Some(release) };
                trace.rejected.push(Rejected { candidate, reasons });
            }
        }
        Some(blame)
    }

    /// The best stack with this build.
    fn complete(&mut self, build: &'u Build) -> Result<Choice<'u>, Blame> {
        let mut blame = BUILD;
        let mut dead: Vec<&Python> = Vec::new();
        for (pythons, tier) in self.rounds(build) {
            for (python, base) in self.environments(build, &pythons, tier) {
                if dead.iter().any(|one| std::ptr::eq(*one, python)) {
                    continue;
                }
                let mut choice =
                    Choice { environment: Environment { build, python, base }, packages: Vec::new() };
                let mut needed: Vec<&str> = self.criteria.packages.keys().copied().collect();
                needed.extend(always(build));
                match self.packages(&mut choice, &needed) {
                    Ok(()) => return Ok(choice),
                    Err(cause) if cause & (PYTHON | BASE) == 0 => return Err(cause),
                    Err(cause) => {
                        blame |= cause;
                        if cause & BASE == 0 {
                            dead.push(python);
                        }
                    }
                }
            }
        }
        Err(blame)
    }

    /// Pythons, each time with a tier of base images: the best first.
    fn rounds(&mut self, build: &'u Build) -> Vec<(Vec<&'u Python>, rank::Tier)> {
        let pythons = self.pythons(build);
        let mut groups: BTreeMap<Option<Distance>, Vec<&Python>> = BTreeMap::new();
        for python in pythons {
            let distance = self.criteria.near.map(|near| near.of_python(&python.version));
            groups.entry(distance).or_default().push(python);
        }
        let with_tiers = |pythons: Vec<&'u Python>| rank::TIERS.map(|tier| (pythons.clone(), tier));
        groups.into_values().flat_map(with_tiers).collect()
    }

    /// The Pythons that come into question.
    fn pythons(&mut self, build: &'u Build) -> Vec<&'u Python> {
        let criteria = self.criteria;
        let mut pythons: Vec<&Python> = self.universe.pythons.iter().collect();
        pythons.retain(|python| {
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Python(judge) => Some(judge(criteria, build, python)),
                _ => None,
            };
            let (build, python) = (Some(build), Some(*python));
            self.passes(judge, Candidate { build, python, ..Candidate::default() })
        });
        pythons.retain(|python| self.without_release(build, Some(python)).is_none());
        pythons
    }

    /// Python and base image of a tier, best first.
    fn environments(
        &mut self,
        build: &'u Build,
        pythons: &[&'u Python],
        tier: rank::Tier,
    ) -> Vec<(&'u Python, &'u Base)> {
        let criteria = self.criteria;
        let mut environments = Vec::new();
        let mut bases = rank::bases(self.universe, criteria, build, tier);
        bases.retain(|base| {
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Base(judge) => Some(judge(criteria, build, base)),
                _ => None,
            };
            let (build, base) = (Some(build), Some(*base));
            self.passes(judge, Candidate { build, base, ..Candidate::default() })
        });
        rank::keep_leanest(&mut bases, criteria);
        for &python in pythons {
            for &base in &bases {
                let environment = Environment { build, python, base };
                let judge = |constraint: &Constraint| match constraint.judge {
                    Judge::Environment(judge) => Some(judge(criteria, &environment)),
                    _ => None,
                };
                if self.passes(judge, environment.candidate(None)) {
                    environments.push((python, base));
                }
            }
        }
        rank::sort_environments(&mut environments, criteria, build);
        environments
    }

    /// Chooses every package that is needed, the first of [`Universe::order`] first; goes back to the one
    /// that a dead end depends on.
    fn packages(&mut self, choice: &mut Choice<'u>, needed: &[&str]) -> Result<(), Blame> {
        let open = |name: &str| needed.contains(&name) && choice.package(name).is_none();
        let mut indices = self.universe.order.iter().enumerate().filter(|(_, name)| open(name));
        let next = indices.find_map(|(index, name)| Some((index, self.universe.package(name)?)));
        let Some((index, package)) = next else { return Ok(()) };
        let mine: Blame = 1 << index;
        // Who asked for this package is part of the cause when no release of it does, unless it is needed in
        // any case.
        let (python, criteria) = (choice.environment.python, self.criteria);
        let markers = criteria.markers(python);
        let in_any_case = package.name == ALWAYS || self.criteria.packages.contains_key(package.name);
        let mut blame = choice
            .packages
            .iter()
            .filter(|other| {
                !in_any_case
                    && (other.requires(package.name, markers).is_some()
                        || other.companions(python).any(|name| name == package.name))
            })
            .fold(0, |blame, other| {
                blame | blame::of_need(self.universe, other, package.name, criteria.architecture())
            });
        for release in self.releases(package) {
            match self.conflict(choice, release) {
                Some(cause) => blame |= cause,
                None => {
                    choice.packages.push(release);
                    let mut more = needed.to_vec();
                    more.extend(release.required(markers).into_iter().map(|(name, _)| name));
                    release.companions(python).for_each(|name| more.push(name));
                    match self.packages(choice, &more) {
                        Ok(()) => return Ok(()),
                        Err(cause) => {
                            choice.packages.pop();
                            if cause & mine == 0 {
                                return Err(cause);
                            }
                            blame |= cause & !mine;
                        }
                    }
                }
            }
        }
        Err(blame)
    }

    /// Why a release cannot be added: what the refusal depends on. `None`: it can.
    fn conflict(&mut self, choice: &Choice<'u>, release: &'u Release) -> Option<Blame> {
        let (criteria, tolerance, environment) = (self.criteria, self.tolerance, choice.environment);
        let (mut blame, mut reasons): (_, Vec<(Blame, &'static str, Objection)>) = (None, Vec::new());
        for constraint in CONSTRAINTS {
            let mut add = |judgement: Judgement, on: Blame| {
                if let Some(objection) = judgement.objection(tolerance) {
                    reasons.push((on, constraint.id, objection));
                }
            };
            match constraint.judge {
                Judge::Build(_) | Judge::Python(_) | Judge::Base(_) | Judge::Environment(_) => {}
                Judge::Package(judge) => add(judge(criteria, release), 0),
                Judge::PackageBuild(judge) => add(judge(criteria, environment.build, release), BUILD),
                Judge::PackagePython(judge) => add(judge(criteria, environment.python, release), PYTHON),
                Judge::PackageWheel(judge) => {
                    add(judge(criteria, environment.build, environment.python, release), BUILD | PYTHON)
                }
                Judge::PackageEnvironment(judge) => {
                    add(judge(criteria, &environment, release), BUILD | PYTHON | BASE)
                }
                Judge::Packages(judge) => {
                    for other in &choice.packages {
                        let judgement = judge(criteria, &environment, release, other);
                        if let Some(objection) = judgement.objection(tolerance) {
                            let on = blame::of_pair(self.universe, release, other, criteria.architecture());
                            reasons.push((on, constraint.id, objection));
                        }
                    }
                }
            }
            // One reason is enough to refuse it; the one that depends on the least prunes the most.
            if let Some((on, ..)) = reasons.iter().min_by_key(|(on, ..)| on.count_ones()) {
                blame = Some(*on);
                if self.trace.is_none() {
                    break;
                }
            }
        }
        if let Some(trace) = self.trace.as_deref_mut().filter(|_| blame.is_some()) {
            let candidate = environment.candidate(Some(release));
            let reason = |(_, constraint, objection)| Reason { constraint, objection, candidate };
            trace.rejected.push(Rejected { candidate, reasons: reasons.into_iter().map(reason).collect() });
        }
        blame
    }

    fn passes(&mut self, judge: impl Fn(&Constraint) -> Option<Judgement>, candidate: Candidate<'u>) -> bool {
        let tolerance = self.tolerance;
        let mut reasons = CONSTRAINTS.iter().filter_map(|constraint| {
            let objection = judge(constraint)?.objection(tolerance)?;
            Some(Reason { constraint: constraint.id, objection, candidate })
        });
        let Some(first) = reasons.next() else { return true };
        if let Some(trace) = self.trace.as_deref_mut() {
            let reasons = std::iter::once(first).chain(reasons).collect();
            trace.rejected.push(Rejected { candidate, reasons });
        }
        false
    }
}
