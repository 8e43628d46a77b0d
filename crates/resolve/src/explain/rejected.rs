//! The newest alternatives that were refused.

use std::cmp::Reverse;

use super::Explainer;
use super::merge::{Group, outcome_reasons};
use crate::constraints::requested;
use crate::outcome::{Reason, Rejected};
use crate::universe::{Build, Python, Universe};
use catalog::torch::CudaBuild;
use diagnostic::words;

/// How many of each part are shown.
const TORCHES: usize = 4;
const PYTHONS: usize = 2;
const PACKAGES: usize = 2;

/// The builds that are named after their CUDA; a local version such as `a6c236b9fd1.nv26.03` tells nothing.
fn names_of_cuda(builds: &[String]) -> Vec<&str> {
    let other = |build: &str| {
        ["cpu", "rocm", "xpu"].iter().any(|start| {
            build
                .strip_prefix(start)
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        })
    };
    let named = |build: &&str| CudaBuild::parse(build).is_some() || other(build);
    builds.iter().map(String::as_str).filter(named).collect()
}

impl<'u> Explainer<'u, '_> {
    /// Releases of torch, Pythons and packages newer than the chosen ones, the newest of each part first.
    pub(super) fn rejected(&self, universe: &'u Universe) -> Vec<Rejected> {
        let mut all = self.torches(universe);
        all.extend(self.pythons(universe));
        for release in &self.choice.packages {
            let refused = self.newer_packages(universe, release);
            let shown = refused.filter(|one| !one.constraints.contains(&requested::PACKAGE.id));
            all.extend(shown.take(PACKAGES).map(|one| {
                Rejected {
                    candidate: format!("{} {}", release.package, one.version),
                    reasons: one
                        .constraints
                        .iter()
                        .map(|id| Reason { constraint: (*id).to_owned(), message: one.message.predicate() })
                        .collect(),
                    predicate: one.message.predicates(),
                }
            }));
        }
        all
    }

    fn torches(&self, universe: &'u Universe) -> Vec<Rejected> {
        let chosen = self.choice.environment.build;
        // A requirement for torch itself needs no list of what it leaves out.
        let requested = |build: &&Build| {
            self.criteria.torch.iter().all(|requirement| requirement.contain(&build.version))
        };
        // Of the chosen release the build that would come first.
        let before = |build: &&Build| {
            build.version > chosen.version
                || (build.version == chosen.version && build.on_pypi(self.criteria.architecture()))
        };
        let mut newer: Vec<&'u Build> = universe
            .candidates(&self.criteria)
            .iter()
            .filter(before)
            .filter(|build| !std::ptr::eq(*build, chosen))
            .filter(requested)
            .collect();
        newer.sort_by_key(|build| Reverse(&build.version));
        let releases = newer.chunk_by(|one, other| one.version == other.version);
        releases.filter_map(|builds| self.torch_release(universe, builds)).take(TORCHES).collect()
    }

    fn torch_release(&self, universe: &'u Universe, builds: &[&'u Build]) -> Option<Rejected> {
        let reasons: Vec<_> =
            builds.iter().map(|build| (*build, self.whole_build(universe, build))).collect();
        let groups = self.groups(&reasons);
        let each = |group: &Group| {
            // A release without a build for the CUDA that was asked for: what it has says more.
            let message = match (&group.builds[..], group.no_build) {
                (builds, true) => match names_of_cuda(builds)[..] {
                    [] => group.message.predicate(),
                    ref names => format!("{}, only {}", group.message.predicate(), words::and(names)),
                },
                ([_, _, ..], false) if groups.len() == 1 => group.message.predicate(),
                _ => group.named(),
            };
            Reason { constraint: group.constraint.to_owned(), message }
        };
        let first = builds.first()?;
        let chosen = self.choice.environment.build;
        let candidate = match first.version == chosen.version {
            true => first.name(),
            false => format!("torch {}", first.release.version),
        };
        // Of several builds that are refused alike, the release is the subject.
        let predicate = match &groups[..] {
            [group] if group.builds.len() > 1 => group.message.predicates(),
            _ => None,
        };
        let reasons: Vec<Reason> = groups.iter().map(each).collect();
        (!reasons.is_empty()).then_some(Rejected { candidate, reasons, predicate })
    }

    fn pythons(&self, universe: &'u Universe) -> Vec<Rejected> {
        let environment = &self.choice.environment;
        let newer =
            universe.pythons.iter().rev().filter(|python| python.version > environment.python.version);
        let refused = |python: &'u Python| {
            let reasons = self.python(environment.build, python);
            let requested = reasons.iter().any(|reason| reason.constraint == requested::PYTHON.id);
            (!reasons.is_empty() && !requested).then(|| Rejected {
                candidate: format!("python {}", python.text),
                reasons: outcome_reasons(&reasons),
                predicate: None,
            })
        };
        newer.filter_map(refused).take(PYTHONS).collect()
    }
}
