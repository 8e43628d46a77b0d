//! JSON for machines. The keys are stable; the schema is docs/schemas/resolve.json.

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ProjectFiles, Report};
use crate::outcome::{Decision, Nearest, Outcome, Reason, Rejected, Stack, Warning};
use crate::requirement_keys;

/// Version of the format.
pub const SCHEMA: u32 = 2;

/// What `envdoc resolve --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = requirement_keys::describe)]
pub struct ResolveReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// What was asked for, in the words of the options.
    #[serde(flatten, with = "requirement_keys")]
    #[schemars(!flatten, with = "Vec<String>")]
    pub requirements: Vec<String>,
    /// The files of a project that requirements come from; null: none was read.
    pub project: Option<ProjectFiles>,
    /// The stack; null: there is none, see `conflict`.
    pub stack: Option<Stack>,
    /// Each choice of the stack with its reason, in the order of the choices; empty without a stack.
    #[serde(rename = "because")]
    pub decisions: Vec<Decision>,
    /// The newest alternatives that were refused.
    pub rejected: Vec<Rejected>,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
    /// What is to know of the machines that were looked at, and asks for nothing.
    pub notes: Vec<String>,
    /// Why there is no stack; null where there is one.
    pub conflict: Option<ConflictEntry>,
    /// Where there is no stack: those without one of the requirements, the cheapest first.
    pub nearest: Vec<Nearest>,
}

/// Why there is no stack.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
#[schemars(transform = requirement_keys::describe)]
pub struct ConflictEntry {
    /// The conflict, in plain sentences.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The smallest set of requirements that cannot hold together.
    #[serde(flatten, with = "requirement_keys")]
    #[schemars(!flatten, with = "Vec<String>")]
    pub requirements: Vec<String>,
    /// The constraints that keep these requirements apart, with a sentence each.
    pub reasons: Vec<Reason>,
    /// Whether a stack may exist all the same: what was asked for is older or newer than the catalog.
    pub undecided: bool,
}

/// The report of an answer.
pub fn report(report: &Report) -> ResolveReport {
    let mut whole = ResolveReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        requirements: report.requirements.iter().map(|requirement| requirement.source.to_string()).collect(),
        project: report.project.cloned(),
        stack: None,
        decisions: Vec::new(),
        rejected: Vec::new(),
        warnings: report.all_warnings().cloned().collect(),
        notes: report.notes.to_vec(),
        conflict: None,
        nearest: Vec::new(),
    };
    match report.outcome {
        Outcome::Resolved(resolution) => {
            whole.stack = Some(resolution.stack.clone());
            whole.decisions = resolution.decisions.clone();
            whole.rejected = resolution.rejected.clone();
        }
        Outcome::Conflict(conflict) => {
            whole.nearest = conflict.nearest.clone();
            whole.conflict = Some(ConflictEntry {
                message: conflict.message.clone(),
                requirements: conflict.requirements.clone(),
                reasons: conflict.reasons.clone(),
                undecided: conflict.undecided,
            });
        }
    }
    whole
}
