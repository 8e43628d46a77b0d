//! The fewest changes of pins with which a request has a stack.
//!
//! [`subset`] finds which pins change, by searches that keep some pins and leave the versions of the others
//! free. One more search then stays near to what was pinned ([`crate::near`]): first the nearest series of
//! torch, then of Python, then of the packages, each with its newest patch release.

mod lost;
mod pin;
mod subset;
#[cfg(test)]
mod tests;

use pep440_rs::{Version, VersionSpecifiers};

use crate::choice::Choice;
use crate::criteria::Criteria;
use crate::near::Near;
use crate::outcome::Stack;
use crate::parameter::Source;
use crate::request::{Request, Requirement, RequirementKind, Versions};
use crate::universe::Universe;
use crate::verdict::Tolerance;
use crate::{assemble, search};
pub use lost::Lost;
pub use pin::Part;
use subset::Trials;

/// After so many searches no smaller set of changes is looked for. 21 pins of a frozen environment take about
/// 30; a set in which nothing is superfluous never takes more than three times as many as there are pins.
const SEARCHES: usize = 60;

/// A stack, and the changes of pins with which it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The best stack for the request with the changes.
    pub stack: Stack,
    /// In the order of the requirements; empty: the request has a stack as it is.
    pub changed: Vec<Change>,
    /// What the torch build of the stack lacks that the pinned one has.
    pub lost: Lost,
    /// Whether no repair changes fewer pins; `false`: there may be one.
    pub fewest: bool,
    /// How many searches this took.
    pub searches: usize,
}

/// A pin that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The position in [`Request::requirements`].
    pub index: usize,
    /// The part that is pinned.
    pub part: Part,
    /// The versions before the change.
    pub from: Versions,
    /// The versions to require instead, in the style of those before.
    pub to: Versions,
    /// The version of the part in the stack. It names the build (`2.7.1+cu128`) where the pin did.
    pub version: Version,
}

impl Change {
    /// The requirement that takes the place of the old one.
    fn kind(&self) -> RequirementKind {
        self.part.kind(self.to.clone())
    }
}

/// The repair of a request that has no stack, by changes of these of its requirements. Those on a GPU, a
/// driver or a base image never change. `None`: no versions of the pins help.
pub fn smallest(universe: &Universe, request: &Request, changeable: &[usize]) -> Option<Repair> {
    let pins = Pins::of(universe, request, changeable);
    let all: Vec<usize> = (0..pins.indices.len()).collect();
    let mut trials = Trials::new(SEARCHES, |kept: &[usize]| {
        let request = pins.keeping(kept);
        search::any_within(universe, &request, Tolerance::LOOSEST, None).is_some()
    });
    let (changed, fewest) = match () {
        () if trials.holds(&all) => (Vec::new(), true),
        () if !trials.holds(&[]) => return None,
        () => {
            let changes = trials.changes(all.len());
            (changes.pins, changes.fewest)
        }
    };
    let searches = trials.searches;
    pins.repair(&changed, fewest, searches)
}

/// A request in which these requirements allow every version. It says what is wrong where there is no repair.
pub fn relaxed(universe: &Universe, request: &Request, changeable: &[usize]) -> Request {
    Pins::of(universe, request, changeable).keeping(&[])
}

/// The requirements of a request that may change, in the order in which they are kept.
struct Pins<'a> {
    universe: &'a Universe,
    request: &'a Request,
    indices: Vec<usize>,
}

impl<'a> Pins<'a> {
    fn of(universe: &'a Universe, request: &'a Request, changeable: &[usize]) -> Pins<'a> {
        let class = |index: &usize| {
            let (part, versions) = Part::of(request.requirements.get(*index)?)?;
            let any = versions.specifiers.is_empty() && versions.build.is_none();
            (!any).then(|| (part.class(versions, universe), *index))
        };
        let mut sorted: Vec<_> = changeable.iter().filter_map(class).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Pins { universe, request, indices: sorted.into_iter().map(|(_, index)| index).collect() }
    }

    /// The request without the versions of all pins but these.
    fn keeping(&self, kept: &[usize]) -> Request {
        let kept: Vec<usize> = kept.iter().map(|pin| self.indices[*pin]).collect();
        let relax = |(index, requirement): (usize, &Requirement)| {
            let kind = match Part::of(requirement) {
                Some((part, versions)) if self.indices.contains(&index) && !kept.contains(&index) => {
                    part.relaxed(versions, self.universe.catalog)
                }
                _ => requirement.kind.clone(),
            };
            Requirement { source: requirement.source.clone(), kind }
        };
        let requirements = self.request.requirements.iter().enumerate().map(relax).collect();
        Request { requirements, ..self.request.clone() }
    }

    /// The stack that is nearest to the pins that change, and their changes.
    fn repair(&self, changed: &[usize], fewest: bool, searches: usize) -> Option<Repair> {
        let mut near = Near::default();
        for pin in changed {
            let (part, versions) = Part::of(&self.request.requirements[self.indices[*pin]])?;
            part.keep_near(&mut near, self.universe, versions);
        }
        let kept: Vec<usize> = (0..self.indices.len()).filter(|pin| !changed.contains(pin)).collect();
        let mut free = self.keeping(&kept);
        let tried = self.hold_python(&mut free, changed, &near);
        let nearest = search::nearest(self.universe, &free, &near)?;
        let mut indices: Vec<usize> = changed.iter().map(|pin| self.indices[*pin]).collect();
        indices.extend(self.of_other_builds(&indices, &nearest));
        indices.sort_unstable();
        let change = |index: &usize| change(&self.request.requirements[*index], *index, &nearest);
        let mut changed: Vec<Change> = indices.iter().map(change).collect::<Option<_>>()?;
        let request = self.with(&changed);
        let (choice, _) = search::best(self.universe, &request, None)?;
        for change in &mut changed {
            change.version = version(&change.part, &change.to, &choice)?;
        }
        let lost = match changed.is_empty() {
            true => Lost { architectures: Some(Vec::new()), driver: None },
            false => Lost::between(self.universe, self.request, choice.environment.build),
        };
        let stack = assemble::stack(&Criteria::from_request(self.universe.catalog, &request), &choice);
        Some(Repair { stack, changed, lost, fewest, searches: searches + tried + 2 })
    }

    /// Holds a Python that changes to the nearest series, unless torch changes too: that comes first. A torch
    /// whose version is free must not move Python. Returns the number of searches.
    fn hold_python(&self, request: &mut Request, changed: &[usize], near: &Near) -> usize {
        let part = |pin: &usize| Some(Part::of(&self.request.requirements[self.indices[*pin]])?.0);
        let parts: Vec<Part> = changed.iter().filter_map(part).collect();
        if !parts.contains(&Part::Python) || parts.iter().any(|part| [Part::Torch, Part::Cuda].contains(part))
        {
            return 0;
        }
        let mut pythons: Vec<_> = self.universe.pythons.iter().collect();
        pythons.sort_by_key(|python| near.of_python(&python.version));
        let holds = |request: &Request, tolerance| {
            search::any_within(self.universe, request, tolerance, None).is_some()
        };
        let mut searches = 0;
        for tolerance in Tolerance::ALL {
            searches += 1;
            if !holds(request, tolerance) {
                continue;
            }
            for python in pythons {
                let Ok(versions) = python.text.parse() else { continue };
                let kind = RequirementKind::Python(versions);
                request.requirements.push(Requirement { source: Source::Trial, kind });
                searches += 1;
                if holds(request, tolerance) {
                    break;
                }
                request.requirements.pop();
            }
            break;
        }
        searches
    }

    /// Pins of torchvision and torchaudio that name the build of a torch that changes.
    fn of_other_builds(&self, changed: &[usize], choice: &Choice) -> Vec<usize> {
        let torch =
            |index: &usize| matches!(self.request.requirements[*index].kind, RequirementKind::Torch(_));
        if !changed.iter().any(torch) {
            return Vec::new();
        }
        let other = |index: &usize| {
            let pin = Part::of(&self.request.requirements[*index]);
            pin.is_some_and(|(part, versions)| {
                let named = versions.build.as_deref().filter(|_| part.has_torch_builds());
                named.is_some_and(|name| name != choice.environment.build.build.build)
            })
        };
        let unchanged = self.indices.iter().copied().filter(|index| !changed.contains(index));
        unchanged.filter(other).collect()
    }

    /// The request with the changes.
    fn with(&self, changed: &[Change]) -> Request {
        let mut request = self.request.clone();
        for change in changed {
            request.requirements[change.index].kind = change.kind();
        }
        request
    }
}

fn change(requirement: &Requirement, index: usize, choice: &Choice) -> Option<Change> {
    let (part, from) = Part::of(requirement)?;
    let to = moved(from, &part, choice)?;
    let version = version(&part, &to, choice)?;
    Some(Change { index, from: from.clone(), to, version, part })
}

/// The versions in place of others.
fn moved(from: &Versions, part: &Part, choice: &Choice) -> Option<Versions> {
    let specifiers = part.respecified(&from.specifiers, choice)?;
    let own_build = &choice.environment.build.build.build;
    let build = from.build.as_ref().map(|name| if part.has_torch_builds() { own_build } else { name });
    let build = build.cloned();
    Some(Versions { text: text(&specifiers, build.as_deref()), specifiers, build })
}

/// `==2.7.1+cu128`, `>=2.1,<2.8`.
fn text(specifiers: &VersionSpecifiers, build: Option<&str>) -> String {
    let parts: Vec<String> = specifiers.iter().map(ToString::to_string).collect();
    let build = build.map_or(String::new(), |build| format!("+{build}"));
    format!("{}{build}", parts.join(","))
}

/// The version of a part in a stack, with its build if the versions name one.
fn version(part: &Part, versions: &Versions, choice: &Choice) -> Option<Version> {
    let version = part.in_choice(choice)?;
    match &versions.build {
        Some(build) => format!("{version}+{build}").parse().ok(),
        None => Some(version),
    }
}
