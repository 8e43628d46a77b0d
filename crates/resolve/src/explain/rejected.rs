//! The newest alternatives that were refused.

use std::cmp::Reverse;

use super::Answered;
use super::merge::{Group, answer_reasons};
use crate::answer::{Reason, Rejected};
use crate::world::{Build, Python, World};
use diagnostic::words;

/// How many of each part are shown.
const TORCHES: usize = 4;
const PYTHONS: usize = 2;
const PACKAGES: usize = 2;

impl<'w> Answered<'w, '_> {
    /// Releases of torch, Pythons and packages newer than the chosen ones, the newest of each part first.
    pub(super) fn rejected(&self, world: &'w World) -> Vec<Rejected> {
        let mut all = self.torches(world);
        all.extend(self.pythons(world));
        for release in &self.choice.packages {
            let refused = self.newer_packages(world, release);
            let shown = refused.filter(|one| !one.constraints.contains(&"package-asked-for"));
            all.extend(shown.take(PACKAGES).map(|one| {
                Rejected {
                    candidate: format!("{} {}", release.package, one.version),
                    reasons: one
                        .constraints
                        .iter()
                        .map(|id| Reason { constraint: (*id).to_owned(), says: one.message.predicate() })
                        .collect(),
                }
            }));
        }
        all
    }

    fn torches(&self, world: &'w World) -> Vec<Rejected> {
        let chosen = self.choice.place.build;
        // A wish for torch itself needs no list of what it leaves out.
        let wished = |build: &&Build| self.wanted.torch.iter().all(|wish| wish.contain(&build.version));
        // Of the chosen release the build that would come first.
        let before = |build: &&Build| {
            build.version > chosen.version || (build.version == chosen.version && build.pypi)
        };
        let mut newer: Vec<&'w Build> = world
            .candidates(&self.wanted)
            .iter()
            .filter(before)
            .filter(|build| !std::ptr::eq(*build, chosen))
            .filter(wished)
            .collect();
        newer.sort_by_key(|build| Reverse(&build.version));
        let releases = newer.chunk_by(|one, other| one.version == other.version);
        releases.filter_map(|builds| self.torch_release(world, builds)).take(TORCHES).collect()
    }

    fn torch_release(&self, world: &'w World, builds: &[&'w Build]) -> Option<Rejected> {
        let reasons: Vec<_> = builds.iter().map(|build| (*build, self.whole_build(world, build))).collect();
        let groups = self.groups(&reasons);
        let each = |group: &Group| {
            // A release without a build for the CUDA that was asked for: what it has says more.
            let says = match (&group.builds[..], group.no_build) {
                (builds, true) => format!("{}, only {}", group.message.predicate(), words::and(builds)),
                ([_, _, ..], false) if groups.len() == 1 => group.message.predicate(),
                _ => group.named(),
            };
            Reason { constraint: group.constraint.to_owned(), says }
        };
        let first = builds.first()?;
        let chosen = self.choice.place.build;
        let candidate = match first.version == chosen.version {
            true => first.name(),
            false => format!("torch {}", first.release.version),
        };
        (!groups.is_empty()).then(|| Rejected { candidate, reasons: groups.iter().map(each).collect() })
    }

    fn pythons(&self, world: &'w World) -> Vec<Rejected> {
        let place = &self.choice.place;
        let newer = world.pythons.iter().rev().filter(|python| python.version > place.python.version);
        let refused = |python: &'w Python| {
            let reasons = self.python(place.build, python);
            let asked = reasons.iter().any(|reason| reason.constraint == "python-asked-for");
            (!reasons.is_empty() && !asked).then(|| Rejected {
                candidate: format!("python {}", python.text),
                reasons: answer_reasons(&reasons),
            })
        };
        newer.filter_map(refused).take(PYTHONS).collect()
    }
}
