//! Reasons of many releases, said once.

use super::Explainer;
use crate::constraints::requested;
use crate::message::{Short, Subject};
use crate::outcome;
use crate::universe::{Build, Universe};
use crate::verdict::{Objection, Reason};
use diagnostic::words;

/// A release that ranks before the chosen one, and why it is not in the answer.
#[derive(Debug)]
pub(super) struct Refused {
    pub version: String,
    /// The same for releases that are refused alike.
    pub message: Short,
    /// Ids of the constraints, in order, each once.
    pub constraints: Vec<&'static str>,
    /// Whether it only differs from what was requested.
    pub is_request: bool,
    /// Whether the catalog may lack builds of it that matter here.
    pub builds_incomplete: bool,
}

impl<'u> Explainer<'u, '_> {
    /// Why none of the builds of a release is in the answer; `None` where that is unknown of one of them.
    pub(super) fn release(&self, universe: &'u Universe, builds: &[&'u Build]) -> Option<Refused> {
        let reasons: Vec<(&Build, Vec<Reason>)> =
            builds.iter().map(|build| (*build, self.whole_build(universe, build))).collect();
        if reasons.iter().any(|(_, reasons)| reasons.is_empty()) {
            return None;
        }
        let mut constraints: Vec<&'static str> = Vec::new();
        for reason in reasons.iter().filter_map(|(_, reasons)| reasons.first()) {
            if !constraints.contains(&reason.constraint) {
                constraints.push(reason.constraint);
            }
        }
        let release = builds.first()?.release;
        let groups = self.groups(&reasons);
        Some(Refused {
            version: release.version.clone(),
            message: match &groups[..] {
                [one] => one.message.clone(),
                _ => Short::sentence(groups.iter().map(Group::named).collect::<Vec<_>>().join("; ")),
            },
            constraints,
            is_request: groups.iter().all(|group| group.is_request),
            builds_incomplete: groups.iter().any(|group| group.no_build) && !release.builds_complete,
        })
    }

    /// The first reason of each build, those that are alike together.
    pub(super) fn groups(&self, reasons: &[(&Build, Vec<Reason>)]) -> Vec<Group> {
        let by_cuda = |(build, reasons): &(&Build, Vec<Reason>)| {
            reasons.first().is_some_and(|reason| reason.constraint == requested::BUILD.id)
                && self
                    .criteria
                    .torch
                    .iter()
                    .all(|requirement| requirement.contain(&build.version) && requirement.build.is_none())
        };
        if let Some((first, _)) = reasons.first().filter(|_| reasons.iter().all(by_cuda)) {
            return vec![self.no_build(first, reasons)];
        }
        let mut groups: Vec<Group> = Vec::new();
        for (build, reasons) in reasons {
            let Some(reason) = reasons.first() else { continue };
            let message = reason.short(Subject::Build);
            match groups.iter_mut().find(|group| group.message == message) {
                Some(group) => group.builds.push(build.build.build.clone()),
                None => groups.push(Group {
                    constraint: reason.constraint,
                    message,
                    builds: vec![build.build.build.clone()],
                    is_request: is_request(reason),
                    no_build: false,
                }),
            }
        }
        groups
    }

    /// A release without a build for the requested CUDA.
    fn no_build(&self, first: &Build, reasons: &[(&Build, Vec<Reason>)]) -> Group {
        let known = if first.release.builds_complete { "" } else { "known " };
        let requirements: Vec<String> =
            self.criteria.cuda.iter().map(|requirement| format!("CUDA {}", requirement.text)).collect();
        Group {
            constraint: requested::BUILD.id,
            message: Short::sentence(format!("no {known}build for {}", words::and(&requirements))),
            builds: reasons.iter().map(|(build, _)| build.build.build.clone()).collect(),
            is_request: false,
            no_build: true,
        }
    }
}

fn is_request(reason: &Reason) -> bool {
    matches!(&reason.objection, Objection::Refusal(refusal) if refusal.is_request())
}

/// Builds of one release that are refused for the same reason.
#[derive(Debug)]
pub(super) struct Group {
    pub constraint: &'static str,
    pub message: Short,
    /// `cu121`.
    pub builds: Vec<String>,
    pub is_request: bool,
    /// Whether the release has no build for the requested CUDA.
    pub no_build: bool,
}

impl Group {
    /// The builds and their reason.
    pub(super) fn named(&self) -> String {
        match &self.builds[..] {
            [one] => self.message.of(one),
            several => self.message.of_several(&words::and(several)),
        }
    }
}

/// Refused releases, newest first, as ranges with a reason each, the oldest first: `2.6.0 to 2.14.1: no build
/// for CUDA 12.1`.
pub(super) fn ranges(refused: &[&Refused]) -> Vec<String> {
    let mut ranges: Vec<Vec<&Refused>> = Vec::new();
    for &one in refused {
        match ranges.last_mut() {
            Some(alike) if alike[0].alike(one) => alike.push(one),
            _ => ranges.push(vec![one]),
        }
    }
    ranges.iter().rev().map(|alike| range(alike)).collect()
}

/// Releases that are refused alike, newest first, in a clause.
fn range(alike: &[&Refused]) -> String {
    let versions: Vec<&str> = alike.iter().rev().map(|one| one.version.as_str()).collect();
    let nearest = alike[alike.len() - 1];
    match alike {
        [one] => one.message.of(&one.version),
        _ if alike.iter().all(|one| one.message == nearest.message) => {
            nearest.message.of_several(&words::span(&versions))
        }
        _ => {
            let one = nearest.message.of(&nearest.version);
            format!("{} are not compatible, for example {one}", words::span(&versions))
        }
    }
}

impl Refused {
    /// Whether two are refused by the same constraints, so that one of them can stand for both.
    fn alike(&self, other: &Refused) -> bool {
        self.constraints == other.constraints && self.builds_incomplete == other.builds_incomplete
    }
}

/// The reasons of a candidate for the answer.
pub(super) fn outcome_reasons(reasons: &[Reason]) -> Vec<outcome::Reason> {
    let each = |reason: &Reason| outcome::Reason {
        constraint: reason.constraint.to_owned(),
        message: reason.sentence(),
    };
    reasons.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(version: &str, message: Short, constraint: &'static str) -> Refused {
        Refused {
            version: version.into(),
            message,
            constraints: vec![constraint],
            is_request: false,
            builds_incomplete: false,
        }
    }

    #[test]
    fn releases_with_equal_reasons_are_merged() {
        let no_build = || Short::sentence("no build for CUDA 12.1".into());
        let predicate = |verb, text: &str| Short { verb: Some(verb), text: text.into() };
        let newest_first = [
            refused("2.15.0", no_build(), "a"),
            refused("2.14.1", no_build(), "a"),
            refused("2.14.0", no_build(), "a"),
            refused("2.13.0", predicate(("has", "have"), "no wheel for Python 3.9"), "b"),
            refused("2.12.0", predicate(("needs", "need"), "driver 580"), "c"),
            refused("2.11.0", predicate(("needs", "need"), "driver 575"), "c"),
        ];
        assert_eq!(
            ranges(&newest_first.iter().collect::<Vec<_>>()),
            [
                "2.11.0 and 2.12.0 are not compatible, for example 2.11.0 needs driver 575",
                "2.13.0 has no wheel for Python 3.9",
                "2.14.0 to 2.15.0: no build for CUDA 12.1",
            ]
        );
    }
}
