//! JSON for machines. The keys are stable; the schema is docs/schemas/check.json.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Summary, status};
use crate::checks::{CheckResult, Fix, FixClass, Verdict};
use crate::error::{Error, Kind};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// What `envdoc check --format json` prints.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// How many results have each status.
    pub summary: Summary,
    /// One entry a check, in the order of the report.
    pub results: Vec<CheckEntry>,
}

/// One check's result.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckEntry {
    /// Id of the check.
    pub check: String,
    /// Id of its group.
    pub group: String,
    /// `pass`, `warning`, `error`, `unknown` or `not-applicable`.
    pub status: String,
    /// What is, should be and why it matters; the reason for `unknown` and `not-applicable`; empty for `pass`.
    pub says: String,
    /// The readings that a finding rests on.
    pub evidence: Vec<String>,
    /// What to do about a finding; null otherwise.
    pub fix: Option<FixEntry>,
}

/// What to do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FixEntry {
    /// In words; may be empty.
    pub text: String,
    /// Commands to type, in order.
    pub commands: Vec<String>,
    /// `safe`, `disruptive` (restarts a service or resets a GPU) or `reboot`.
    pub class: String,
}

/// The report of some results.
pub fn report(results: &[CheckResult]) -> CheckReport {
    CheckReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        summary: Summary::of(results),
        results: results.iter().map(entry).collect(),
    }
}

/// What a verdict says, the readings it rests on, and what to do.
pub(super) fn parts(verdict: &Verdict) -> (String, Vec<String>, Option<FixEntry>) {
    match verdict {
        Verdict::Pass => (String::new(), Vec::new(), None),
        Verdict::NotApplicable(why) | Verdict::Unknown(why) => (why.clone(), Vec::new(), None),
        Verdict::Finding { says, evidence, fix, .. } => {
            (says.clone(), evidence.clone(), Some(fix_entry(fix)))
        }
    }
}

fn entry(result: &CheckResult) -> CheckEntry {
    let (says, evidence, fix) = parts(&result.verdict);
    CheckEntry {
        check: result.check.id.into(),
        group: result.check.group.id().into(),
        status: status(&result.verdict).into(),
        says,
        evidence,
        fix,
    }
}

fn fix_entry(fix: &Fix) -> FixEntry {
    FixEntry { text: fix.text.clone(), commands: fix.commands.clone(), class: class(fix.class).into() }
}

/// The word for what a fix does to the machine.
pub fn class(class: FixClass) -> &'static str {
    match class {
        FixClass::Safe => "safe",
        FixClass::Disruptive => "disruptive",
        FixClass::Reboot => "reboot",
    }
}

/// Any value as indented JSON with a line feed at the end.
pub fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::new(Kind::File, format!("cannot write JSON: {error}")))
}
