//! JSON for machines. The keys are stable; the schema is docs/schemas/resolve.json.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::answer::{Answer, Because, Nearest, Reason, Rejected, Stack, Warning};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// What `envdoc resolve --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResolveReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// What was asked for, in the words of the options.
    pub wishes: Vec<String>,
    /// The stack; null: there is none, see `conflict`.
    pub stack: Option<Stack>,
    /// The reason of each choice.
    pub because: Vec<Because>,
    /// The newest alternatives that were refused.
    pub rejected: Vec<Rejected>,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
    /// What is to know of the machines that were looked at, and asks for nothing.
    pub notes: Vec<String>,
    /// Why there is no stack; null where there is one.
    pub conflict: Option<ConflictEntry>,
    /// Where there is no stack: those that come by giving up one wish, the cheapest first.
    pub nearest: Vec<Nearest>,
}

/// Why there is no stack.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictEntry {
    /// The conflict, in plain sentences.
    pub says: String,
    /// The smallest set of wishes that cannot hold together.
    pub wishes: Vec<String>,
    /// Why they cannot.
    pub reasons: Vec<Reason>,
}

/// The report of an answer.
pub fn report(report: &Report) -> ResolveReport {
    let mut whole = ResolveReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        wishes: report.wishes.iter().map(|wish| wish.source.to_string()).collect(),
        stack: None,
        because: Vec::new(),
        rejected: Vec::new(),
        warnings: report.all_warnings().cloned().collect(),
        notes: report.notes.to_vec(),
        conflict: None,
        nearest: Vec::new(),
    };
    match report.answer {
        Answer::Found(resolution) => {
            whole.stack = Some(resolution.stack.clone());
            whole.because = resolution.because.clone();
            whole.rejected = resolution.rejected.clone();
        }
        Answer::None(conflict) => {
            whole.nearest = conflict.nearest.clone();
            whole.conflict = Some(ConflictEntry {
                says: conflict.says.clone(),
                wishes: conflict.wishes.clone(),
                reasons: conflict.reasons.clone(),
            });
        }
    }
    whole
}
