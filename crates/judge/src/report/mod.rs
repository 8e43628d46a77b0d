//! What `envdoc check` reports: its document in JSON ([`json`]), and what was examined ([`machine`]). Every
//! other format is written by [`diagnostic::render`].

pub mod json;
pub mod machine;

use diagnostic::report::{Outcome, Report};
use facts::Facts;

use crate::CheckResult;

/// The results of checks of a machine, for every renderer. `own`: those of the user's own checks.
pub fn report(facts: &Facts, results: &[CheckResult], own: &[Outcome]) -> Report {
    Report {
        command: "envdoc check",
        about: machine::lines(facts),
        properties: machine::properties(facts),
        overview: Vec::new(),
        results: results.iter().map(outcome).chain(own.iter().cloned()).collect(),
        sections: Vec::new(),
    }
}

fn outcome(result: &CheckResult) -> Outcome {
    Outcome::new(result.check, result.verdict.clone())
}
