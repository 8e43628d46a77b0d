//! What a check says, for comparisons.

use crate::{Check, Verdict, judge_one};
use facts::Facts;

/// The status word of a verdict that stands alone.
pub fn status(verdict: &Verdict) -> &'static str {
    verdict.status()
}

/// The word for what `judge` says, whatever machines the check is for.
pub fn kind(check: &Check, facts: &Facts) -> &'static str {
    (check.judge)(facts).unwrap_or_else(|verdict| verdict).status()
}

/// The verdict in one line: `pass`, `not-applicable: …`, `unknown: …`, `warning: …`, `error: …`.
pub fn verdict_line(check: &Check, facts: &Facts) -> String {
    let verdict = judge_one(check, facts);
    match verdict.message() {
        "" => verdict.status().into(),
        message => format!("{}: {message}", verdict.status()),
    }
}

/// Asserts that a check says something that begins with `begins` and contains `contains`.
pub fn expect(check: &Check, facts: &Facts, begins: &str, contains: &str) {
    let said = verdict_line(check, facts);
    assert!(said.starts_with(begins) && said.contains(contains), "{}: {said}", check.id);
}
