//! JSON for machines. The keys are stable; the schema is docs/schemas/check.json.

use std::collections::BTreeMap;

use diagnostic::render::json::{FixEntry, IgnoredEntry, OldFixEntry, evidence, fixes, old_fix};
use diagnostic::render::message_keys;
use diagnostic::report::{Outcome, Summary};
use diagnostic::{Subject, Verdict};
use facts::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine;
use crate::CheckResult;

/// Version of the format.
pub const SCHEMA: u32 = 2;

/// What `envdoc check --format json` prints.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// What was examined, as far as it is known: `os`, `kernel`, `architecture`, `cpu`, `gpus`, `driver`,
    /// `cuda`, `docker`, `container_toolkit`, `time` and others.
    pub machine: BTreeMap<String, String>,
    /// How many results have each status.
    pub summary: Summary,
    /// One entry a check, in the order of the report.
    pub results: Vec<CheckEntry>,
    /// What settings files leave out of the results.
    #[serde(default)]
    pub ignored: Vec<IgnoredEntry>,
}

/// One check's result.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct CheckEntry {
    /// Id of the check: `envdoc explain ID`; `own:NAME` of an own check.
    pub check: String,
    /// Id of its group, which `--only` and `--ignore` take: `gpu`, `docker`, `own`.
    pub group: String,
    /// `pass`, `warning`, `error`, `unknown` or `not-applicable`.
    pub status: String,
    /// What is wrong, what was expected and the consequence; the reason for `unknown` and `not-applicable`;
    /// empty for `pass`.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// What a finding is about, as far as it is known: a file, a line, a node, a variable, a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The readings that a finding rests on.
    pub evidence: Vec<String>,
    /// What to do about a finding, the best first.
    pub fixes: Vec<FixEntry>,
    /// The first of `fixes`, as schema 1 named it; null where there is none.
    pub fix: Option<OldFixEntry>,
}

/// The report of some results. `own`: those of the user's own checks.
pub fn report(
    facts: &Facts,
    results: &[CheckResult],
    own: &[Outcome],
    ignored: Vec<IgnoredEntry>,
) -> CheckReport {
    let properties = machine::properties(facts).into_iter();
    let verdicts = results.iter().map(|result| &result.verdict);
    CheckReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        machine: properties.map(|(name, value)| (name.to_owned(), value)).collect(),
        summary: Summary::of(verdicts.chain(own.iter().map(|outcome| &outcome.verdict))),
        results: results.iter().map(of_check).chain(own.iter().map(of_outcome)).collect(),
        ignored,
    }
}

/// A result as an entry of the list.
pub fn of_check(result: &CheckResult) -> CheckEntry {
    entry(result.check.id, result.check.group.id(), &result.verdict)
}

fn of_outcome(outcome: &Outcome) -> CheckEntry {
    entry(&outcome.rule.id, outcome.rule.group.id, &outcome.verdict)
}

fn entry(check: &str, group: &str, verdict: &Verdict) -> CheckEntry {
    CheckEntry {
        check: check.into(),
        group: group.into(),
        status: verdict.status().into(),
        message: verdict.message().into(),
        subject: verdict.found().map(|found| found.subject.clone()).filter(|subject| !subject.is_empty()),
        evidence: evidence(verdict),
        fixes: fixes(verdict),
        fix: old_fix(verdict),
    }
}
