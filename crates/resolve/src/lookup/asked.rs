//! A question about one part of a stack: whether it exists, and whether it is compatible with a request.

use super::{Explanation, explain, names, why};
use crate::outcome::Outcome;
use crate::parameter::Source;
use crate::parse::{self, StackOptions};
use crate::request::{Request, Requirement, RequirementKind};
use crate::resolve;
use crate::universe::Universe;
use diagnostic::suggest::nearest;

/// The catalog has nothing of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject:?} is not in the catalog")]
pub struct NotInCatalog {
    /// `torhc==2.6.0`.
    pub subject: String,
    /// The nearest name that the catalog has.
    pub nearest: Option<&'static str>,
}

/// The answer to a question about a part.
#[derive(Debug)]
pub struct Answer {
    /// What the catalog knows about it.
    pub explanation: Explanation,
    /// Whether it is compatible with the request; `None` where the request is empty, or the part cannot be
    /// required (a GPU, a constraint).
    pub together: Option<Together>,
}

/// A part together with a request.
#[derive(Debug)]
pub struct Together {
    /// The requirements of the request, in the user's words.
    pub requirements: Vec<String>,
    /// The result of the request with the part.
    pub outcome: Outcome,
    /// Why the part is, or is not, in the answer to the request without it.
    pub why: Option<Explanation>,
}

impl Together {
    /// Whether a stack has both.
    pub fn compatible(&self) -> bool {
        matches!(self.outcome, Outcome::Resolved(_))
    }
}

/// The name of a part and, where one is asked about, its version.
type Part<'t> = (&'t str, Option<&'t str>);

/// Answers a question such as `torch==2.6.0`, `torch=2.6.0` (conda's way to write it) or `numpy`.
pub fn asked(universe: &Universe, request: &Request, subject: &str) -> Result<Answer, NotInCatalog> {
    let part = match subject.split_once('=') {
        Some((name, version)) => (name, Some(version.trim_start_matches('='))),
        None => (subject, None),
    };
    let subject = match part {
        (name, Some(version)) => format!("{name}=={version}"),
        (name, None) => name.to_owned(),
    };
    let Some(explanation) = explain(universe, &subject) else {
        let nearest = nearest(&subject, names(universe));
        return Err(NotInCatalog { subject, nearest });
    };
    let together = match request.requirements.is_empty() {
        true => None,
        false => together(universe, request, part, &subject),
    };
    Ok(Answer { explanation, together })
}

fn together(universe: &Universe, request: &Request, part: Part<'_>, subject: &str) -> Option<Together> {
    let own = parse::requirements(universe, &options(part, subject)).ok()?.requirements;
    // Of what the catalog does not have as a package nothing is known.
    if own.iter().any(|one| matches!(one.kind, RequirementKind::Unchecked(_))) {
        return None;
    }
    let mut whole = request.clone();
    whole.requirements.extend(
        own.into_iter()
            .map(|requirement| Requirement { source: Source::Stated(subject.to_owned()), ..requirement }),
    );
    let outcome = resolve(universe, &whole);
    let why = match outcome {
        Outcome::Resolved(_) => why(universe, request, subject).ok(),
        Outcome::Conflict(_) => None,
    };
    let requirements = request.requirements.iter().map(|one| one.source.to_string()).collect();
    Some(Together { requirements, outcome, why })
}

fn options((name, version): Part<'_>, subject: &str) -> StackOptions {
    let version = || Some(version.unwrap_or_default().to_owned());
    match name {
        "cuda" => StackOptions { cuda: version(), ..StackOptions::default() },
        "python" => StackOptions { python: version(), ..StackOptions::default() },
        "torch" => StackOptions { torch: version(), ..StackOptions::default() },
        _ => StackOptions { with: vec![subject.to_owned()], ..StackOptions::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::universe;

    fn request(cuda: &str) -> Request {
        let options = StackOptions { cuda: Some(cuda.into()), ..StackOptions::default() };
        let requirements = parse::requirements(universe(), &options).unwrap().requirements;
        Request { requirements, today: "2026-11-21".into(), ..Request::default() }
    }

    #[test]
    fn together_with_a_request() {
        for (subject, compatible) in
            [("torch==2.5.1", true), ("torch=2.5.1", true), ("torch==2.15.0", false), ("numpy", true)]
        {
            let answer = asked(universe(), &request("12.1"), subject).unwrap();
            let together = answer.together.unwrap();
            assert_eq!(together.compatible(), compatible, "{subject}");
            assert_eq!(together.why.is_some(), compatible, "{subject}");
            assert_eq!(together.requirements, ["--cuda 12.1"]);
        }
    }

    #[test]
    fn unknown_subject_is_an_error_with_a_suggestion() {
        assert!(asked(universe(), &request("12.1"), "h100").unwrap().together.is_none());
        assert!(asked(universe(), &Request::default(), "torch==2.5.1").unwrap().together.is_none());
        let error = asked(universe(), &Request::default(), "nmpy").unwrap_err();
        assert_eq!((error.subject.as_str(), error.nearest), ("nmpy", Some("numpy")));
    }
}
