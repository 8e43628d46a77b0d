//! The diagnosis for machines. The keys are stable; the schema is docs/schemas/diagnose.json.

use schemars::JsonSchema;
use serde::Serialize;

use crate::weigh::looked::Outcome;
use crate::weigh::{self, Confidence, Diagnosis};
use catalog::signatures::Role;

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// What `envdoc diagnose --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnoseReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// The first is the root cause; the others are what else failed, or further candidates. Empty where no known failure was found.
    pub causes: Vec<CauseEntry>,
    /// Lines that tell of a failure and that nothing explains.
    pub unmatched_errors: Vec<Line>,
    /// Lines that look like errors and need not be.
    pub suspicious: Vec<Line>,
    /// Where nothing failed that is known: the last lines of the sources, if these are few.
    pub last: Vec<Line>,
    /// Ranks that said nothing while others failed.
    pub silent_ranks: Vec<u32>,
    /// What happened, in order.
    pub timeline: Vec<MomentEntry>,
    /// What was odd about the files.
    pub remarks: Vec<String>,
    /// How many lines were read.
    pub lines: u64,
}

/// One cause.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CauseEntry {
    /// Id of the signature (`envdoc explain ID`); `xid-79` for a fault that the driver numbers.
    pub id: String,
    /// Whose failure it is: `docker`, `nccl`, `torch` …
    pub component: String,
    /// `root`, or `symptom` where the log tells no cause.
    pub role: String,
    /// What happened, in a sentence.
    pub says: String,
    /// What it means.
    pub meaning: String,
    /// `certain`, `likely` or `candidate`.
    pub confidence: Confidence,
    /// The rank and node that failed; null where the log does not tell.
    pub whose: Option<String>,
    /// The lines that it rests on, the most telling first.
    pub evidence: Vec<Line>,
    /// What the log says around the first of them, where that line alone tells little.
    pub around: Vec<Line>,
    /// What to do against the likeliest of what may be behind it.
    pub fix: String,
    /// What may be behind it.
    pub choices: Vec<ChoiceEntry>,
    /// What checks said of the machine, with `--from`.
    pub looked: Vec<LookedEntry>,
}

/// A line of a log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its words.
    pub text: String,
}

/// One of the causes that end in the same words.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChoiceEntry {
    /// The cause in a few words.
    pub cause: String,
    /// What tells it from the others: the id of a check, or a command.
    pub check: String,
    /// What to do.
    pub fix: String,
    /// What to type; words in capitals are to be replaced.
    pub commands: Vec<String>,
}

/// What a check said of the machine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LookedEntry {
    /// Id of the check.
    pub check: String,
    /// `confirmed`, `ruled-out` or `unknown`.
    pub outcome: Outcome,
    /// What it found, or why it could not look.
    pub says: String,
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MomentEntry {
    /// Seconds after the first moment; null where the line has no time.
    pub seconds: Option<f64>,
    /// The rank and node.
    pub whose: Option<String>,
    /// Id of the signature.
    pub id: String,
    /// `root`, `symptom` or `context`.
    pub role: String,
    /// In a sentence.
    pub says: String,
    /// The first line that tells it.
    pub evidence: Line,
    /// How many lines tell the same.
    pub count: usize,
}

/// The report.
pub fn report(diagnosis: &Diagnosis) -> DiagnoseReport {
    DiagnoseReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        causes: diagnosis.causes.iter().map(cause).collect(),
        unmatched_errors: diagnosis.unmatched_errors.iter().map(line).collect(),
        suspicious: diagnosis.suspicious.iter().map(line).collect(),
        last: diagnosis.last.iter().map(line).collect(),
        silent_ranks: diagnosis.silent.clone(),
        timeline: diagnosis.timeline.iter().map(moment).collect(),
        remarks: diagnosis.remarks.clone(),
        lines: diagnosis.lines,
    }
}

fn cause(one: &weigh::Cause) -> CauseEntry {
    let choice = |choice: &catalog::signatures::Cause| ChoiceEntry {
        cause: choice.cause.to_owned(),
        check: choice.check.to_owned(),
        fix: choice.fix.to_owned(),
        commands: choice.commands.iter().map(|command| (*command).to_owned()).collect(),
    };
    let looked = |looked: &weigh::Looked| LookedEntry {
        check: looked.check.clone(),
        outcome: looked.outcome,
        says: looked.says.clone(),
    };
    CauseEntry {
        id: one.id.clone(),
        component: one.component.id().into(),
        role: role(one.role).into(),
        says: one.says.clone(),
        meaning: one.meaning.clone(),
        confidence: one.confidence,
        whose: one.whose.clone(),
        evidence: one.evidence.iter().map(line).collect(),
        around: one.around.iter().map(line).collect(),
        fix: one.choices.first().map_or(String::new(), |choice| choice.fix.to_owned()),
        choices: one.choices.iter().map(choice).collect(),
        looked: one.looked.iter().map(looked).collect(),
    }
}

fn moment(one: &weigh::Moment) -> MomentEntry {
    MomentEntry {
        seconds: one.seconds,
        whose: one.whose.clone(),
        id: one.id.clone(),
        role: role(one.role).into(),
        says: one.says.clone(),
        evidence: line(&one.evidence),
        count: one.count,
    }
}

fn line(line: &weigh::Evidence) -> Line {
    Line { file: line.file.clone(), line: line.line, text: line.text.clone() }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Root => "root",
        Role::Symptom => "symptom",
        Role::Context => "context",
    }
}
