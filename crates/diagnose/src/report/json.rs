//! The diagnosis for machines. The keys are stable; the schema is docs/schemas/diagnose.json.

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use super::command_to_confirm;
use crate::root_cause::machine_evidence::Outcome;
use crate::root_cause::{self, Confidence, Diagnosis};
use catalog::signatures::Role;

/// Version of the format.
pub const SCHEMA: u32 = 2;

/// What `envdoc diagnose --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnoseReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// The first is the root cause; the others are what else failed, or further candidates. Empty where no
    /// known failure was found.
    pub causes: Vec<CauseEntry>,
    /// Error lines that match no signature.
    pub unmatched_errors: Vec<Line>,
    /// Lines that look like errors but may be harmless.
    pub suspicious: Vec<Line>,
    /// Without a known failure: the last lines of the sources, if there are few sources.
    pub last: Vec<Line>,
    /// Ranks that logged no failure while others failed.
    pub silent_ranks: Vec<u32>,
    /// What the logs report, in the order in which it happened.
    pub timeline: Vec<MomentEntry>,
    /// Logs that could not be read; they were not searched.
    pub unread: Vec<UnreadEntry>,
    /// Remarks on the files, for example that one is truncated.
    pub remarks: Vec<String>,
    /// Lines that were read, of all sources together.
    pub lines: u64,
}

/// A failure that was found, or a candidate for one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct CauseEntry {
    /// Id of the signature (`envdoc explain ID`); `xid-79` for a fault that the driver numbers.
    pub id: String,
    /// The component that failed: `docker`, `nccl`, `torch` …
    pub component: String,
    /// `root`, or `symptom` where the log does not show the cause.
    pub role: String,
    /// What happened, in a sentence with the values of the log.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// What this failure means in general, as `envdoc explain ID` tells it.
    pub meaning: String,
    /// `certain`, `likely` or `candidate`.
    pub confidence: Confidence,
    /// The rank and node that failed; null if unknown.
    pub whose: Option<String>,
    /// The lines it is based on, the most relevant first.
    pub evidence: Vec<Line>,
    /// Log context of the first line, where that line alone says little.
    pub around: Vec<Line>,
    /// The fix for the most likely cause, without its commands.
    pub fix: String,
    /// A fix for each possible cause, the most likely first.
    pub fixes: Vec<FixEntry>,
    /// The possible causes, and how to confirm each.
    pub choices: Vec<ChoiceEntry>,
    /// Results of the checks of the machine, with `--from`.
    #[serde(rename = "looked")]
    pub machine_evidence: Vec<MachineEvidenceEntry>,
}

/// A line of a log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The line as the report shows it.
    pub text: String,
}

/// A log that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadEntry {
    /// The file or other source, as it was named.
    pub file: String,
    /// Why, in the words of the system.
    pub message: String,
}

/// One possible cause of a failure, with the way to confirm it and its fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChoiceEntry {
    /// The cause in a few words.
    pub cause: String,
    /// The former key of `confirm` and `look_at`: the id of a check, else the command, else what to look at.
    pub check: String,
    /// The command that confirms it; null where no command shows it.
    pub confirm: Option<String>,
    /// What to look at: in the output of the command, or where no command shows it; null if nothing else.
    pub look_at: Option<String>,
    /// What to do if this is the cause, in a sentence; it ends with a colon where commands follow.
    pub fix: String,
    /// The commands; words in capitals are placeholders.
    pub commands: Vec<String>,
}

/// How to fix a possible cause.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixEntry {
    /// What to do, in a sentence; it ends with a colon where commands follow.
    pub title: String,
    /// The commands; words in capitals are placeholders.
    pub commands: Vec<String>,
}

/// The result of a check of the machine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "LookedEntry", transform = message_keys::describe)]
pub struct MachineEvidenceEntry {
    /// Id of the check: `envdoc explain ID`.
    pub check: String,
    /// `confirmed`, `ruled-out` or `unknown`.
    pub outcome: Outcome,
    /// What it found, or why it could not run.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
}

/// One entry of the timeline.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct MomentEntry {
    /// Seconds after the first moment; null where the line has no time.
    pub seconds: Option<f64>,
    /// The rank and node of the line: `rank 3 on node1`; null where it names neither.
    pub whose: Option<String>,
    /// Id of the signature that the line matches: `envdoc explain ID`.
    pub id: String,
    /// `root`, `symptom` or `context`.
    pub role: String,
    /// What happened, in a sentence with the values of the line.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The first line that reports it.
    pub evidence: Line,
    /// How many lines report the same.
    pub count: usize,
}

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
        unread: diagnosis.unread.iter().map(unread).collect(),
        remarks: diagnosis.remarks.clone(),
        lines: diagnosis.lines,
    }
}

fn cause(one: &root_cause::Cause) -> CauseEntry {
    let choice = |choice: &catalog::signatures::Cause| ChoiceEntry {
        cause: choice.cause.to_owned(),
        check: choice.check.or(choice.confirm).or(choice.look_at).unwrap_or_default().to_owned(),
        confirm: command_to_confirm(choice),
        look_at: choice.look_at.map(str::to_owned),
        fix: choice.fix.to_owned(),
        commands: choice.commands.iter().map(|command| (*command).to_owned()).collect(),
    };
    let fix = |choice: &catalog::signatures::Cause| FixEntry {
        title: choice.fix.to_owned(),
        commands: choice.commands.iter().map(|command| (*command).to_owned()).collect(),
    };
    let evidence = |evidence: &root_cause::MachineEvidence| MachineEvidenceEntry {
        check: evidence.check.clone(),
        outcome: evidence.outcome,
        message: evidence.message.clone(),
    };
    CauseEntry {
        id: one.id.clone(),
        component: one.component.id().into(),
        role: role(one.role).into(),
        message: one.message.clone(),
        meaning: one.meaning.clone(),
        confidence: one.confidence,
        whose: one.whose.as_ref().map(root_cause::Whose::to_string),
        evidence: one.evidence.iter().map(line).collect(),
        around: one.context.iter().map(line).collect(),
        fix: one.choices.first().map_or(String::new(), |choice| choice.fix.to_owned()),
        fixes: one.choices.iter().map(fix).collect(),
        choices: one.choices.iter().map(choice).collect(),
        machine_evidence: one.machine_evidence.iter().map(evidence).collect(),
    }
}

fn unread((name, why): &(String, String)) -> UnreadEntry {
    UnreadEntry { file: name.clone(), message: why.clone() }
}

fn moment(one: &root_cause::Moment) -> MomentEntry {
    MomentEntry {
        seconds: one.seconds,
        whose: one.whose.as_ref().map(root_cause::Whose::to_string),
        id: one.id.clone(),
        role: role(one.role).into(),
        message: one.message.clone(),
        evidence: line(&one.evidence),
        count: one.count,
    }
}

fn line(line: &root_cause::Evidence) -> Line {
    Line { file: line.file.clone(), line: line.line, text: line.text.clone() }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Root => "root",
        Role::Symptom => "symptom",
        Role::Context => "context",
    }
}
