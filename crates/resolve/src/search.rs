//! The best stack that meets every constraint.
//!
//! "Best" is a fixed order over whole stacks ([`super::rank`]): first what costs nothing and is known, then
//! the packages that were asked for by name, newest first, then the torch build, then Python and base image
//! together, then each other package in the order of [`ORDER`], newest first. The search goes through the
//! candidates in exactly this order and takes the first that can be completed, so what it returns is the best
//! there is: a wish less can never give a worse stack.

use catalog::Catalog;

use super::constraint::{Constraint, Judge, Place};
use super::constraints::CONSTRAINTS;
use super::rank;
use super::request::Request;
use super::verdict::Tolerance;
use super::verdict::{Candidate, Judgement, Objection, Reason};
use super::wanted::Wanted;
use super::world::{Base, Build, Package, Python, Release, World};

/// The order in which packages are chosen: what requires others comes before them, so that the newest of it
/// decides.
pub const ORDER: &[&str] = &[
    "vllm",
    "trl",
    "peft",
    "deepspeed",
    "xformers",
    "flash-attn",
    "bitsandbytes",
    "stable-baselines3",
    "accelerate",
    "transformers",
    "datasets",
    "tokenizers",
    "huggingface-hub",
    "gymnasium",
    "triton",
    "pydantic",
    "setuptools",
    "numba",
    "numpy",
];

/// The package that is there in every stack: torch does little without it, and does not require it.
const ALWAYS: &str = "numpy";

/// The same for a build: an image that brings its own torch brings what that torch uses.
fn always(build: &Build) -> Option<&'static str> {
    build.image.is_none().then_some(ALWAYS)
}

/// A stack, complete or in the making.
#[derive(Debug, Clone)]
pub struct Choice<'w> {
    /// The torch build, the Python and the base image.
    pub place: Place<'w>,
    /// The packages chosen so far.
    pub packages: Vec<&'w Release>,
}

impl<'w> Choice<'w> {
    /// The chosen release of a package.
    pub fn package(&self, name: &str) -> Option<&'w Release> {
        self.packages.iter().find(|release| release.package == name).copied()
    }
}

/// A candidate that was looked at before the chosen one, and why it could not be taken.
#[derive(Debug, Clone)]
pub struct Rejected<'w> {
    pub candidate: Candidate<'w>,
    pub reasons: Vec<Reason<'w>>,
}

/// A record of what a search refused.
#[derive(Debug, Default)]
pub struct Trace<'w> {
    /// In the order of the search; a candidate may occur several times.
    pub rejected: Vec<Rejected<'w>>,
}

/// The best stack for a request, and how much had to be put up with for it.
pub fn best<'w>(
    world: &'w World,
    request: &Request,
    mut trace: Option<&mut Trace<'w>>,
) -> Option<(Choice<'w>, Tolerance)> {
    let wanted = Wanted::of(world.catalog, request);
    for (place, tolerance) in Tolerance::ALL.into_iter().enumerate() {
        if let Some(trace) = trace.as_deref_mut() {
            trace.rejected.clear();
        }
        // What not even the loosest finds is not looked for in between.
        if place == 1 && any_within(world, request, Tolerance::LOOSEST, trace.as_deref_mut()).is_none() {
            return None;
        }
        if let Some(trace) = trace.as_deref_mut() {
            trace.rejected.clear();
        }
        let trace = trace.as_deref_mut();
        let mut search = Search { world, wanted: &wanted, tolerance, fixed: Vec::new(), trace };
        if let Some(choice) = search.run() {
            return Some((search.with_newest(choice), tolerance));
        }
    }
    None
}

/// Some stack that needs no more than this to be put up with; not always the best.
pub fn any_within<'w>(
    world: &'w World,
    request: &Request,
    tolerance: Tolerance,
    trace: Option<&mut Trace<'w>>,
) -> Option<Choice<'w>> {
    let wanted = &Wanted::of(world.catalog, request);
    Search { world, wanted, tolerance, fixed: Vec::new(), trace }.run()
}

/// A judgement on a part of a finished stack.
#[derive(Debug)]
pub struct Judged<'w> {
    /// Id of the constraint.
    pub constraint: &'static str,
    pub judgement: Judgement,
    pub candidate: Candidate<'w>,
}

/// Every judgement on a finished stack other than [`Judgement::Holds`].
pub fn judge<'w>(catalog: &'static Catalog, request: &Request, choice: &Choice<'w>) -> Vec<Judged<'w>> {
    let wanted = Wanted::of(catalog, request);
    let (place, packages) = (choice.place, &choice.packages);
    let mut all = Vec::new();
    for constraint in CONSTRAINTS {
        let mut add = |release: Option<&'w Release>, judgement: Judgement| {
            if judgement != Judgement::Holds {
                all.push(Judged {
                    constraint: constraint.id,
                    judgement,
                    candidate: place.candidate(release),
                });
            }
        };
        match constraint.judge {
            Judge::Build(judge) => add(None, judge(&wanted, place.build)),
            Judge::Python(judge) => add(None, judge(&wanted, place.build, place.python)),
            Judge::Base(judge) => add(None, judge(&wanted, place.build, place.base)),
            Judge::Place(judge) => add(None, judge(&wanted, &place)),
            Judge::Package(judge) => packages.iter().for_each(|one| add(Some(one), judge(&wanted, one))),
            Judge::PackageBuild(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&wanted, place.build, one)));
            }
            Judge::PackagePython(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&wanted, place.python, one)));
            }
            Judge::PackageWheel(judge) => {
                packages
                    .iter()
                    .for_each(|one| add(Some(one), judge(&wanted, place.build, place.python, one)));
            }
            Judge::PackagePlace(judge) => {
                packages.iter().for_each(|one| add(Some(one), judge(&wanted, &place, one)));
            }
            Judge::Packages(judge) => {
                for (index, one) in packages.iter().enumerate() {
                    for other in &packages[..index] {
                        add(Some(one), judge(&wanted, &place, one, other));
                    }
                }
            }
        }
    }
    all
}

/// What a dead end depends on, as bits: the build, the Python, the base image, and packages by their place in
/// [`ORDER`].
type Blame = u64;
const BUILD: Blame = 1 << 62;
const PYTHON: Blame = 1 << 61;
const BASE: Blame = 1 << 60;

struct Search<'w, 's> {
    world: &'w World,
    wanted: &'s Wanted<'s>,
    tolerance: Tolerance,
    /// The releases to which packages are held.
    fixed: Vec<&'w Release>,
    trace: Option<&'s mut Trace<'w>>,
}

impl<'w> Search<'w, '_> {
    fn run(&mut self) -> Option<Choice<'w>> {
        for build in rank::builds(self.world, self.wanted) {
            let wanted = self.wanted;
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Build(judge) => Some(judge(wanted, build)),
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
    fn with_newest(&mut self, mut choice: Choice<'w>) -> Choice<'w> {
        let trace = self.trace.take();
        let mut changed = false;
        for name in ORDER.iter().filter(|name| self.wanted.packages.contains_key(**name)) {
            let (Some(package), Some(mut chosen)) = (self.world.package(name), choice.package(name)) else {
                continue;
            };
            for release in rank::releases(package, self.wanted) {
                if std::ptr::eq(release, chosen) {
                    break;
                }
                self.fixed.push(release);
                let better = self.run();
                self.fixed.pop();
                if let Some(better) = better {
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
    fn releases(&self, package: &'w Package) -> Vec<&'w Release> {
        match self.fixed.iter().find(|fixed| fixed.package == package.name) {
            Some(fixed) => vec![fixed],
            None => rank::releases(package, self.wanted),
        }
    }

    /// Whether there is a package that is needed and has no release for this build, and this Python where one
    /// is given, whatever else is chosen; what that depends on.
    fn without_release(&mut self, build: &'w Build, python: Option<&'w Python>) -> Option<Blame> {
        let (world, wanted, tolerance) = (self.world, self.wanted, self.tolerance);
        let reasons = |release: &'w Release| -> Vec<(Blame, Reason<'w>)> {
            let candidate = Candidate { build: Some(build), python, base: None, release: Some(release) };
            let judge = |constraint: &Constraint| {
                let (on, judgement) = match (constraint.judge, python) {
                    (Judge::Package(judge), _) => (0, judge(wanted, release)),
                    (Judge::PackageBuild(judge), _) => (BUILD, judge(wanted, build, release)),
                    (Judge::PackagePython(judge), Some(python)) => (PYTHON, judge(wanted, python, release)),
                    (Judge::PackageWheel(judge), Some(python)) => {
                        (BUILD | PYTHON, judge(wanted, build, python, release))
                    }
                    _ => return None,
                };
                let objection = judgement.objection(tolerance)?;
                Some((on, Reason { constraint: constraint.id, objection, candidate }))
            };
            CONSTRAINTS.iter().filter_map(judge).collect()
        };
        let needed = wanted.packages.keys().copied().chain(always(build));
        let mut packages = needed.filter_map(|name| Some(self.releases(world.package(name)?)));
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
    fn complete(&mut self, build: &'w Build) -> Result<Choice<'w>, Blame> {
        let mut blame = BUILD;
        let mut dead: Vec<&Python> = Vec::new();
        let pythons = self.pythons(build);
        if pythons.is_empty() {
            return Err(blame);
        }
        for tier in rank::TIERS {
            for (python, base) in self.places(build, &pythons, tier) {
                if dead.iter().any(|one| std::ptr::eq(*one, python)) {
                    continue;
                }
                let mut choice = Choice { place: Place { build, python, base }, packages: Vec::new() };
                let mut needed: Vec<&str> = self.wanted.packages.keys().copied().collect();
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

    /// The Pythons that come into question.
    fn pythons(&mut self, build: &'w Build) -> Vec<&'w Python> {
        let wanted = self.wanted;
        let mut pythons: Vec<&Python> = self.world.pythons.iter().collect();
        pythons.retain(|python| {
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Python(judge) => Some(judge(wanted, build, python)),
                _ => None,
            };
            let (build, python) = (Some(build), Some(*python));
            self.passes(judge, Candidate { build, python, ..Candidate::default() })
        });
        pythons.retain(|python| self.without_release(build, Some(python)).is_none());
        pythons
    }

    /// Python and base image of a tier, best first.
    fn places(
        &mut self,
        build: &'w Build,
        pythons: &[&'w Python],
        tier: rank::Tier,
    ) -> Vec<(&'w Python, &'w Base)> {
        let wanted = self.wanted;
        let mut places = Vec::new();
        let mut bases = rank::bases(self.world, wanted, build, tier);
        bases.retain(|base| {
            let judge = |constraint: &Constraint| match constraint.judge {
                Judge::Base(judge) => Some(judge(wanted, build, base)),
                _ => None,
            };
            let (build, base) = (Some(build), Some(*base));
            self.passes(judge, Candidate { build, base, ..Candidate::default() })
        });
        rank::keep_leanest(&mut bases, wanted);
        for &python in pythons {
            for &base in &bases {
                let place = Place { build, python, base };
                let judge = |constraint: &Constraint| match constraint.judge {
                    Judge::Place(judge) => Some(judge(wanted, &place)),
                    _ => None,
                };
                if self.passes(judge, place.candidate(None)) {
                    places.push((python, base));
                }
            }
        }
        rank::sort_places(&mut places, wanted, build);
        places
    }

    /// Chooses every package that is needed, the first of [`ORDER`] first; goes back to the one that a dead
    /// end depends on.
    fn packages(&mut self, choice: &mut Choice<'w>, needed: &[&str]) -> Result<(), Blame> {
        let open = |name: &str| needed.contains(&name) && choice.package(name).is_none();
        let mut places = ORDER.iter().enumerate().filter(|(_, name)| open(name));
        let next = places.find_map(|(place, name)| Some((place, self.world.package(name)?)));
        let Some((place, package)) = next else { return Ok(()) };
        let mine: Blame = 1 << place;
        // Who asked for this package is part of the cause when no release of it does, unless it is needed in
        // any case.
        let in_any_case = package.name == ALWAYS || self.wanted.packages.contains_key(package.name);
        let mut blame = choice
            .packages
            .iter()
            .filter(|other| {
                !in_any_case
                    && (other.requires(package.name).is_some()
                        || other.beside(choice.place.python).any(|name| name == package.name))
            })
            .fold(0, |blame, other| blame | bit(other.package));
        for release in self.releases(package) {
            match self.conflict(choice, release) {
                Some(cause) => blame |= cause,
                None => {
                    choice.packages.push(release);
                    let mut more = needed.to_vec();
                    more.extend(release.requires.iter().map(|(name, _)| *name));
                    for name in release.beside(choice.place.python) {
                        more.push(name);
                    }
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
    fn conflict(&mut self, choice: &Choice<'w>, release: &'w Release) -> Option<Blame> {
        let (wanted, tolerance, place) = (self.wanted, self.tolerance, choice.place);
        let (mut blame, mut reasons): (_, Vec<(Blame, &'static str, Objection)>) = (None, Vec::new());
        for constraint in CONSTRAINTS {
            let mut add = |judgement: Judgement, on: Blame| {
                if let Some(objection) = judgement.objection(tolerance) {
                    reasons.push((on, constraint.id, objection));
                }
            };
            match constraint.judge {
                Judge::Build(_) | Judge::Python(_) | Judge::Base(_) | Judge::Place(_) => {}
                Judge::Package(judge) => add(judge(wanted, release), 0),
                Judge::PackageBuild(judge) => add(judge(wanted, place.build, release), BUILD),
                Judge::PackagePython(judge) => add(judge(wanted, place.python, release), PYTHON),
                Judge::PackageWheel(judge) => {
                    add(judge(wanted, place.build, place.python, release), BUILD | PYTHON)
                }
                Judge::PackagePlace(judge) => add(judge(wanted, &place, release), BUILD | PYTHON | BASE),
                Judge::Packages(judge) => {
                    for other in &choice.packages {
                        add(judge(wanted, &place, release, other), bit(other.package));
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
            let candidate = place.candidate(Some(release));
            let reason = |(_, constraint, objection)| Reason { constraint, objection, candidate };
            trace.rejected.push(Rejected { candidate, reasons: reasons.into_iter().map(reason).collect() });
        }
        blame
    }

    fn passes(&mut self, judge: impl Fn(&Constraint) -> Option<Judgement>, candidate: Candidate<'w>) -> bool {
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

fn bit(package: &str) -> Blame {
    ORDER.iter().position(|name| *name == package).map_or(0, |place| 1 << place)
}
