//! Evidence from the machine: the checks that a cause names confirm it or rule it out.

use super::Cause;
use catalog::signatures::Cause as Choice;
use facts::Facts;
use judge::{Check, CheckResult, Checks, Verdict};

/// The result of a check that a cause names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineEvidence {
    /// Id of the check.
    pub check: String,
    /// What it means for the cause.
    pub outcome: Outcome,
    /// What it found, or why it could not run.
    pub message: String,
}

/// The machine that a log is of.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// What is known of it.
    pub facts: &'a Facts,
    /// What it is checked for, where a cause names a check.
    pub checks: Checks,
}

/// What a check result means for the cause that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The machine has the fault.
    Confirmed,
    /// The machine does not have it, as it is now.
    RuledOut,
    /// The check could not run, or does not apply.
    Unknown,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Confirmed => "confirmed",
            Outcome::RuledOut => "ruled out",
            Outcome::Unknown => "unknown",
        }
    }
}

/// Runs the checks that the choices name.
pub fn evaluate(choices: &[Choice], machine: Machine<'_>) -> Vec<MachineEvidence> {
    let mut pointed: Vec<&'static Check> = Vec::new();
    for choice in choices {
        if let Some(check) = machine.checks.iter().find(|check| Some(check.id) == choice.check)
            && !pointed.iter().any(|known| known.id == check.id)
        {
            pointed.push(check);
        }
    }
    let evidence_of = |result: &CheckResult| {
        let (outcome, message) = match &result.verdict {
            Verdict::Found(found) => {
                let readings = match found.evidence.as_slice() {
                    [] => String::new(),
                    evidence => format!(" ({})", evidence.join("; ")),
                };
                (Outcome::Confirmed, format!("{}{readings}", found.message))
            }
            Verdict::Pass => (Outcome::RuledOut, format!("{} now", result.check.summary)),
            Verdict::NotApplicable(why) => (Outcome::Unknown, why.clone()),
            Verdict::Unknown(why) => (Outcome::Unknown, why.detail.clone()),
        };
        MachineEvidence { check: result.check.id.to_owned(), outcome, message }
    };
    judge::judge(&pointed, machine.facts).iter().map(evidence_of).collect()
}

/// Moves candidates that the machine confirms to the front; a certain cause stays first.
pub fn order(causes: &mut [Cause]) {
    use super::Confidence::Candidate;
    if causes.first().is_none_or(|first| first.confidence != Candidate) {
        return;
    }
    causes.sort_by_key(|cause| {
        let confirmed =
            cause.machine_evidence.iter().any(|evidence_of| evidence_of.outcome == Outcome::Confirmed);
        (cause.confidence, !confirmed)
    });
}
