//! Reasons of many releases, said once.

use super::Answered;
use crate::answer;
use crate::constraint::Reason;
use crate::world::{Build, World};
use diagnostic::words;

/// A release that ranks before the chosen one, and why it is not in the answer.
#[derive(Debug)]
pub(super) struct Refused {
    /// The version.
    pub version: String,
    /// Why, in a clause; the same for releases that are refused alike.
    pub says: String,
    /// Ids of the constraints, in order, each once.
    pub constraints: Vec<&'static str>,
}

impl Answered<'_, '_> {
    /// Why none of the builds of a release is in the answer; `None` where that cannot be told of one of them.
    pub(super) fn release(&self, world: &World, builds: &[&Build]) -> Option<Refused> {
        let reasons: Vec<(&Build, Vec<Reason>)> =
            builds.iter().map(|build| (*build, self.whole_build(world, build))).collect();
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
        let (version, says) = (release.version.clone(), self.clause(&reasons));
        Some(Refused { version, says, constraints })
    }

    /// The reasons of the builds of one release in a clause: those that several builds share once.
    fn clause(&self, reasons: &[(&Build, Vec<Reason>)]) -> String {
        let groups = self.groups(reasons);
        match &groups[..] {
            [one] => one.says.clone(),
            _ => {
                let each = |group: &Group| group.said();
                groups.iter().map(each).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The first reason of each build, those that are alike together.
    pub(super) fn groups(&self, reasons: &[(&Build, Vec<Reason>)]) -> Vec<Group> {
        let by_cuda = |(build, reasons): &(&Build, Vec<Reason>)| {
            reasons.first().is_some_and(|reason| reason.constraint == "torch-asked-for")
                && self.wanted.torch.iter().all(|wish| wish.contain(&build.version) && wish.build.is_none())
        };
        let names = |reasons: &[(&Build, Vec<Reason>)]| {
            reasons.iter().map(|(build, _)| build.build.build.clone()).collect()
        };
        if let Some((first, _)) = reasons.first().filter(|_| reasons.iter().all(by_cuda)) {
            let known = if first.release.builds_complete { "" } else { "known " };
            let wishes: Vec<String> =
                self.wanted.cuda.iter().map(|wish| format!("CUDA {}", wish.text)).collect();
            let says = format!("no {known}build for {}", words::and(&wishes));
            return vec![Group { constraint: "torch-asked-for", says, builds: names(reasons) }];
        }
        let mut groups: Vec<Group> = Vec::new();
        for (build, reasons) in reasons {
            let Some(reason) = reasons.first() else { continue };
            let says = short(reason, build);
            match groups.iter_mut().find(|group| group.says == says) {
                Some(group) => group.builds.push(build.build.build.clone()),
                None => groups.push(Group {
                    constraint: reason.constraint,
                    says,
                    builds: vec![build.build.build.clone()],
                }),
            }
        }
        groups
    }
}

/// Builds of one release that are refused for the same reason.
#[derive(Debug)]
pub(super) struct Group {
    /// Id of the constraint.
    pub constraint: &'static str,
    /// The reason, without the name of the build.
    pub says: String,
    /// The builds.
    pub builds: Vec<String>,
}

impl Group {
    /// The builds and their reason.
    pub(super) fn said(&self) -> String {
        match &self.builds[..] {
            [one] => said_of(one, &self.says),
            several => said_of_all(&words::and(several), &self.says),
        }
    }
}

/// A reason without what can be looked up, and without the name of the build that it is about.
pub(super) fn short(reason: &Reason, build: &Build) -> String {
    let says = reason.says.replace(&format!("{} ", build.name()), "");
    let says = says.replace(&format!("torch {} ", build.release.version), "");
    let says = says.strip_prefix("it ").unwrap_or(&says);
    says.split_once(", only for ").map_or(says, |(says, _)| says).to_owned()
}

/// Refused releases, newest first, as ranges with a reason each, the oldest first: `2.6.0 to 2.14.1: no build for CUDA 12.1`.
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
        [one] => said_of(&one.version, &one.says),
        _ if alike.iter().all(|one| one.says == nearest.says) => {
            said_of_all(&words::span(&versions), &nearest.says)
        }
        _ => {
            let one = said_of(&nearest.version, &nearest.says);
            format!("{} do not: {one}, and the others likewise", words::span(&versions))
        }
    }
}

/// Verbs with which reasons begin, of one and of several.
const VERBS: [(&str, &str); 5] =
    [("has ", "have "), ("was ", "were "), ("requires ", "require "), ("asks ", "ask "), ("needs ", "need ")];

/// A name and what is said of it: `2.6.0 has no wheel for Python 3.14`, `2.6.0: no build for CUDA 12.1`.
pub(super) fn said_of(name: &str, says: &str) -> String {
    let verb = VERBS.iter().any(|(one, _)| says.starts_with(one));
    format!("{name}{} {says}", if verb { "" } else { ":" })
}

/// The same of several.
fn said_of_all(names: &str, says: &str) -> String {
    match VERBS.iter().find_map(|(one, several)| Some((several, says.strip_prefix(one)?))) {
        Some((verb, rest)) => format!("{names} {verb}{rest}"),
        None => format!("{names}: {says}"),
    }
}

impl Refused {
    /// Whether two are refused by the same constraints, so that one of them can stand for both.
    fn alike(&self, other: &Refused) -> bool {
        // Of a release whose builds are not all known, less is said.
        self.constraints == other.constraints
            && self.says.contains(" known ") == other.says.contains(" known ")
    }
}

/// The reasons of a candidate for the answer.
pub(super) fn answer_reasons(reasons: &[Reason]) -> Vec<answer::Reason> {
    let each = |reason: &Reason| answer::Reason {
        constraint: reason.constraint.to_owned(),
        says: reason.says.clone(),
    };
    reasons.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(version: &str, says: &str, constraint: &'static str) -> Refused {
        Refused { version: version.into(), says: says.into(), constraints: vec![constraint] }
    }

    #[test]
    fn alike_releases_are_a_range() {
        let newest_first = [
            refused("2.15.0", "no build for CUDA 12.1", "a"),
            refused("2.14.1", "no build for CUDA 12.1", "a"),
            refused("2.14.0", "no build for CUDA 12.1", "a"),
            refused("2.13.0", "has no wheel for Python 3.9", "b"),
            refused("2.12.0", "needs driver 580", "c"),
            refused("2.11.0", "needs driver 575", "c"),
        ];
        assert_eq!(
            ranges(&newest_first.iter().collect::<Vec<_>>()),
            [
                "2.11.0 and 2.12.0 do not: 2.11.0 needs driver 575, and the others likewise",
                "2.13.0 has no wheel for Python 3.9",
                "2.14.0 to 2.15.0: no build for CUDA 12.1",
            ]
        );
    }
}
