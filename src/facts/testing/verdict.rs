//! What a check says, for comparisons.

use crate::checks::{Check, Verdict, judge_one};
use crate::facts::Facts;

pub use crate::report::status as word;

/// The word for what `judge` says, whatever machines the check is for.
pub fn kind(check: &Check, facts: &Facts) -> &'static str {
    match (check.judge)(facts) {
        Ok(verdict) | Err(verdict) => word(&verdict),
    }
}

/// The verdict in one line: `pass`, `not-applicable: …`, `unknown: …`, `warning: …`, `error: …`.
pub fn says(check: &Check, facts: &Facts) -> String {
    let verdict = judge_one(check, facts);
    let word = word(&verdict);
    match verdict {
        Verdict::Pass => word.into(),
        Verdict::NotApplicable(why) | Verdict::Unknown(why) => format!("{word}: {why}"),
        Verdict::Finding { says, .. } => format!("{word}: {says}"),
    }
}

/// Asserts that a check says something that begins with `begins` and contains `contains`.
pub fn expect(check: &Check, facts: &Facts, begins: &str, contains: &str) {
    let said = says(check, facts);
    assert!(said.starts_with(begins) && said.contains(contains), "{}: {said}", check.id);
}
