//! Requirements that cost another one more than a minor release: what holds it back, and what comes without.

use std::collections::BTreeMap;

use pep440_rs::Version;

use super::criteria::Criteria;
use super::outcome::Warning;
use super::parameter::{Parameter, Source};
use super::request::{Request, Requirement, RequirementKind};
use super::search::{self, Choice};
use super::universe::{Universe, series};
use diagnostic::words::and;

/// The id of these warnings, which reports show before the stack.
pub(crate) const ID: &str = "held-back";

/// torch, which every stack has.
const TORCH: &str = "torch";

/// A part of the stack at an older release than it would have without a requirement.
#[derive(Debug)]
struct Loss {
    part: &'static str,
    chosen: Version,
    without: Version,
}

/// One warning for each requirement that holds others back.
pub(crate) fn warnings(universe: &Universe, request: &Request, choice: &Choice) -> Vec<Warning> {
    let criteria = Criteria::from_request(universe.catalog, request);
    let old = old_parts(universe, &criteria, choice);
    if old.is_empty() {
        return Vec::new();
    }
    let cause = |name: &&str| warning(universe, request, &criteria, &old, name);
    criteria.packages.keys().copied().filter_map(|name| cause(&name)).collect()
}

/// What was asked for by name, and torch if its version was not, where the chosen release is more than a
/// minor one behind the newest; each with that release.
fn old_parts(universe: &Universe, criteria: &Criteria, choice: &Choice) -> BTreeMap<&'static str, Version> {
    let newest = |part: &str| match part {
        TORCH => universe.candidates(criteria).iter().map(|build| build.version.clone()).max(),
        _ => universe.package(part)?.releases.first().map(|release| release.version.clone()),
    };
    let named = universe.package_names().filter(|name| criteria.packages.contains_key(name));
    let parts = named.chain(criteria.torch.is_empty().then_some(TORCH));
    parts
        .filter_map(|part| Some((part, version(choice, part)?)))
        .filter(|(part, chosen)| newest(part).is_some_and(|newest| is_more_than_a_minor(&newest, chosen)))
        .collect()
}

fn version(choice: &Choice, part: &str) -> Option<Version> {
    match part {
        TORCH => Some(choice.environment.build.version.clone()),
        _ => choice.package(part).map(|release| release.version.clone()),
    }
}

/// Whether a release is of a later major series, or at least two minor series later.
fn is_more_than_a_minor(newer: &Version, older: &Version) -> bool {
    let (newer, older) = (series(newer), series(older));
    newer.0 > older.0 || (newer.0 == older.0 && newer.1 > older.1 + 1)
}

fn warning(
    universe: &Universe,
    request: &Request,
    criteria: &Criteria,
    old: &BTreeMap<&'static str, Version>,
    name: &str,
) -> Option<Warning> {
    let mut without = request.clone();
    without.requirements.retain(|one| !matches!(&one.kind, RequirementKind::Package(of, _) if of == name));
    let others = old.iter().filter(|(part, _)| **part != name);
    let (found, _) = search::best(universe, &without, None)?;
    let losses: Vec<Loss> = others
        .filter_map(|(part, chosen)| {
            let without = version(&found, part)?;
            let chosen = chosen.clone();
            is_more_than_a_minor(&without, &chosen).then_some(Loss { part, chosen, without })
        })
        .collect();
    if losses.is_empty() {
        return None;
    }
    let held: Vec<String> = losses.iter().map(|loss| format!("{} at {}", loss.part, loss.chosen)).collect();
    let free: Vec<String> = losses.iter().map(|loss| format!("{} {}", loss.part, loss.without)).collect();
    let compiled = compiled(universe, request, criteria, &losses);
    let message = format!(
        "{name} holds back {}. Without {name}: {}.{}",
        and(&held),
        and(&free),
        compiled.as_deref().unwrap_or_default()
    );
    Some(Warning { id: ID.into(), message })
}

/// What comes where packages without a wheel may be compiled, if that is more.
fn compiled(universe: &Universe, request: &Request, criteria: &Criteria, losses: &[Loss]) -> Option<String> {
    if criteria.compile {
        return None;
    }
    let mut compiling = request.clone();
    let source = Source::option(Parameter::Compile, "");
    compiling.requirements.push(Requirement { source, kind: RequirementKind::Compile });
    let (found, _) = search::best(universe, &compiling, None)?;
    let gains: Vec<String> = losses
        .iter()
        .filter_map(|loss| Some((loss, version(&found, loss.part)?)))
        .filter(|(loss, version)| is_more_than_a_minor(version, &loss.chosen))
        .map(|(loss, version)| format!("{} {version}", loss.part))
        .collect();
    (!gains.is_empty()).then(|| format!(" With --compile: {}.", and(&gains)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::testing::universe;
    use crate::tests::request;

    fn held(words: &[&str]) -> Vec<String> {
        match crate::resolve(universe(), &request(words)) {
            Outcome::Resolved(found) => {
                found.warnings.into_iter().filter(|one| one.id == ID).map(|one| one.message).collect()
            }
            Outcome::Conflict(conflict) => panic!("{conflict:?}"),
        }
    }

    #[test]
    fn what_another_wish_costs_is_said() {
        let all = held(&["vllm", "flash-attn"]);
        let of = |name: &str| {
            let start = format!("{name} holds back ");
            all.iter().find(|one| one.starts_with(&start)).unwrap_or_else(|| panic!("{all:?}"))
        };
        let message = of("flash-attn");
        assert!(message.contains("vllm at 0.11") && message.contains("Without flash-attn: "), "{message}");
        assert!(message.contains("vllm 0.33.0") && message.contains("With --compile: "), "{message}");
    }

    #[test]
    fn a_minor_release_is_no_cost() {
        assert!(held(&["vllm"]).is_empty(), "{:?}", held(&["vllm"]));
        assert!(held(&["transformers", "accelerate"]).is_empty());
        assert!(held(&["flash-attn", "torch 2.8"]).is_empty());
    }

    #[test]
    fn more_than_a_minor() {
        let more =
            |newer: &str, older: &str| is_more_than_a_minor(&newer.parse().unwrap(), &older.parse().unwrap());
        assert!(more("0.33.0", "0.11.0") && more("2.0", "1.9") && more("2.10.0", "2.8.0"));
        assert!(!more("2.9.1", "2.8.0") && !more("2.8.1", "2.8.0") && !more("1.9", "2.0"));
    }
}
