//! Why a version is, or is not, in the answer to a request.

use super::{Explanation, explain, split};
use crate::outcome::{Outcome, Resolution, Stack};
use crate::parameter::Source;
use crate::request::{Request, Requirement, RequirementKind, Versions, VersionsError};
use crate::resolve;
use crate::universe::Universe;

/// What was wrong with the question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyError {
    /// No part of a stack has this name.
    #[error("unknown component {0:?}; expected torch, python, cuda or a package")]
    Name(String),
    /// The version cannot be read.
    #[error(transparent)]
    Version(#[from] VersionsError),
}

/// Why `torch=2.6.0` (or `numpy`, `python 3.13`, `deepspeed==0.9.5`) is, or is not, in the answer to a
/// request.
pub fn why(universe: &Universe, request: &Request, text: &str) -> Result<Explanation, WhyError> {
    let (name, version) = split(text);
    let versions: Versions = version.parse()?;
    let kind = match name.as_str() {
        "torch" | "pytorch" => RequirementKind::Torch(versions.clone()),
        "python" => RequirementKind::Python(versions.clone()),
        "cuda" => RequirementKind::Cuda(versions.clone()),
        _ if universe.package(&name).is_some() => RequirementKind::Package(name.clone(), versions.clone()),
        _ => return Err(WhyError::Name(name)),
    };
    let title = if version.is_empty() { name.clone() } else { format!("{name} {version}") };
    let outcome = resolve(universe, request);
    let mut requested = request.clone();
    requested.requirements.push(Requirement { source: Source::Stated(format!("--why {text}")), kind });
    Ok(match (&outcome, resolve(universe, &requested)) {
        (Outcome::Resolved(best), Outcome::Resolved(other)) if best.stack == other.stack => {
            chosen(title, &name, best)
        }
        (Outcome::Resolved(best), Outcome::Resolved(other)) => would_hold(title, &name, best, &other),
        (Outcome::Conflict(_), Outcome::Resolved(_)) => Explanation::new(
            title,
            "Internal error: the request has no stack, but a stricter request has one.",
        ),
        (_, Outcome::Conflict(conflict)) => {
            // What does not exist needs no search for a conflict.
            if let Some(explanation) = explain(universe, text).filter(|one| !one.alternatives.is_empty()) {
                return Ok(explanation);
            }
            let summary = match conflict.message.is_empty() {
                true => "It is not compatible with this request.".to_owned(),
                false => format!("It is not compatible with this request. {}", conflict.message),
            };
            let mut explanation = Explanation::new(title, summary);
            for reason in &conflict.reasons {
                explanation.row(&reason.constraint, reason.message.clone());
            }
            explanation
        }
    })
}

/// It is in the answer: the reason is there.
fn chosen(title: String, name: &str, best: &Resolution) -> Explanation {
    let mut explanation = Explanation::new(title, "It is in the answer to this request.");
    for decision in best.decisions.iter().filter(|decision| decision.part == name) {
        explanation.summary = format!("It is in the answer to this request. {}", decision.message);
        explanation.sources(decision.sources.iter().map(String::as_str));
        explanation.row("constraints", decision.constraints.join(", "));
    }
    explanation
}

/// It is compatible too; another stack ranks before it.
fn would_hold(title: String, name: &str, best: &Resolution, other: &Resolution) -> Explanation {
    let (mine, theirs) = (part(&best.stack, name), part(&other.stack, name));
    let summary = match (&mine, &theirs) {
        (Some(mine), Some(theirs)) if mine != theirs => {
            format!("{theirs} is compatible too, but {mine} ranks before it.")
        }
        (None, Some(theirs)) => format!("{theirs} would also work (not requested)."),
        _ => "It would also work, in a stack that ranks below the answer.".to_owned(),
    };
    let mut explanation = Explanation::new(title, summary);
    for decision in best.decisions.iter().filter(|decision| decision.part == name) {
        explanation.row("chosen", format!("{}: {}", decision.chosen, decision.message));
        explanation.sources(decision.sources.iter().map(String::as_str));
    }
    for (label, mine, theirs) in differences(&best.stack, &other.stack) {
        explanation.row(&label, format!("{theirs} instead of {mine}"));
    }
    explanation
}

fn part(stack: &Stack, name: &str) -> Option<String> {
    match name {
        "torch" | "pytorch" => Some(format!("torch {}+{}", stack.torch, stack.torch_build)),
        "python" => Some(format!("Python {}", stack.python)),
        "cuda" if stack.is_cpu() => Some("a CPU build without CUDA".to_owned()),
        "cuda" => Some(format!("CUDA {}", stack.cuda)),
        "deepspeed" => stack.deepspeed.as_ref().map(|version| format!("deepspeed {version}")),
        _ => stack.packages.get(name).map(|version| format!("{name} {version}")),
    }
}

/// Where two stacks differ: the part, what the first has, what the second has.
fn differences(one: &Stack, two: &Stack) -> Vec<(String, String, String)> {
    let none = || "none".to_owned();
    let parts = |stack: &Stack| -> Vec<(String, String)> {
        let build = format!("{}+{}", stack.torch, stack.torch_build);
        let base = stack.base_image.as_ref().map_or_else(none, ToString::to_string);
        let mut parts = vec![
            ("torch".to_owned(), build),
            ("python".to_owned(), stack.python.clone()),
            ("base image".to_owned(), base),
            ("deepspeed".to_owned(), stack.deepspeed.clone().unwrap_or_else(none)),
        ];
        parts.extend(stack.packages.iter().map(|(name, version)| (name.clone(), version.clone())));
        parts
    };
    let (first, second) = (parts(one), parts(two));
    let mut names: Vec<&String> = first.iter().chain(&second).map(|(name, _)| name).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let of = |parts: &[(String, String)], name: &str| {
        parts.iter().find(|(known, _)| known == name).map_or_else(none, |(_, version)| version.clone())
    };
    names
        .into_iter()
        .map(|name| (name.clone(), of(&first, name), of(&second, name)))
        .filter(|(_, mine, theirs)| mine != theirs)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::universe;

    fn request(words: &[(&str, &str)]) -> Request {
        let requirement = |(part, text): &(&str, &str)| {
            let versions: Versions = text.parse().unwrap();
            let kind = match *part {
                "cuda" => RequirementKind::Cuda(versions),
                "python" => RequirementKind::Python(versions),
                _ => RequirementKind::Torch(versions),
            };
            Requirement { source: Source::Stated(format!("--{part} {text}")), kind }
        };
        Request {
            requirements: words.iter().map(requirement).collect(),
            today: "2026-11-21".into(),
            ..Request::default()
        }
    }

    fn summary(words: &[(&str, &str)], text: &str) -> String {
        why(universe(), &request(words), text).unwrap().summary
    }

    #[test]
    fn explains_why_a_version_was_or_was_not_chosen() {
        let twelve = [("cuda", "12.1"), ("python", "3.12")];
        assert!(summary(&twelve, "torch=2.5.1").starts_with("It is in the answer"));
        let older = summary(&twelve, "torch=2.4.1");
        assert_eq!(older, "torch 2.4.1+cu121 is compatible too, but torch 2.5.1+cu121 ranks before it.");
        assert!(summary(&twelve, "torch=2.6.0").starts_with("It is not compatible with this request"));
        assert!(summary(&twelve, "torch=2.6.1").starts_with("There is no such release"));
        assert!(
            summary(&[], "deepspeed").contains("would also work (not requested)"),
            "{}",
            summary(&[], "deepspeed")
        );
    }

    #[test]
    fn questions_that_cannot_be_answered() {
        let ask = |text: &str| why(universe(), &request(&[]), text).unwrap_err();
        assert!(matches!(ask("trch=2.6"), WhyError::Name(_)));
        assert!(matches!(ask("torch=x"), WhyError::Version(_)));
    }
}
