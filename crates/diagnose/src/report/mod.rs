//! The report of a diagnosis: one file a format.

pub mod findings;
pub mod json;
pub mod markdown;
mod sections;
pub mod signature;
pub mod text;

use crate::root_cause::{Cause, Confidence, Diagnosis, Moment};
use catalog::signatures::{Cause as Choice, Role};
use diagnostic::words::plural;

/// The summary where no cause was found.
pub(super) fn nothing(diagnosis: &Diagnosis) -> String {
    let lines = match diagnosis.lines {
        0 if !diagnosis.unread.is_empty() => {
            let logs = plural(diagnosis.unread.len(), "log");
            return format!("Nothing was searched: {logs} could not be read.");
        }
        0 => return "No lines were read.".into(),
        count => plural(usize::try_from(count).unwrap_or(usize::MAX), "line"),
    };
    match (diagnosis.unmatched_errors.is_empty(), diagnosis.suspicious.is_empty()) {
        (true, true) => format!("No known failure found in {lines}."),
        (true, false) => {
            format!("No known failure found in {lines}; some lines look like errors.")
        }
        _ => format!("No known failure found in {lines}, but errors that match no signature."),
    }
}

/// The cause in at most three sentences: what happened and to whom, what it means, and how sure that is.
pub(super) fn sentences(cause: &Cause) -> String {
    let message = match &cause.whose {
        Some(whose) if !cause.message.to_lowercase().contains(&whose.to_string().to_lowercase()) => {
            format!("{}: {}", whose.at_start(), cause.message)
        }
        _ => cause.message.clone(),
    };
    let sure = match cause.confidence {
        Confidence::Certain => "",
        Confidence::Likely => " The log suggests this but does not prove it.",
        Confidence::Candidate => " The log does not show the cause; check the possible causes below.",
    };
    format!("{message} {}{sure}", cause.meaning)
}

/// The command that confirms a possible cause: the check of this machine, or one of its own; `None` where no
/// command shows it.
pub(super) fn command_to_confirm(choice: &Choice) -> Option<String> {
    let own = || choice.confirm.map(str::to_owned);
    choice.check.map(|check| format!("envdoc check --only {check}")).or_else(own)
}

/// A possible cause and how to confirm it, in one line; `quote` is put around the command.
pub(super) fn confirmation(choice: &Choice, quote: &str) -> String {
    let mut text = choice.cause.to_owned();
    if let Some(command) = command_to_confirm(choice) {
        text += &format!("; to confirm: {quote}{command}{quote}");
    }
    if let Some(look_at) = choice.look_at {
        text += &format!("; look at: {look_at}");
    }
    text
}

/// How a cause is introduced in a list.
pub(super) fn title(index: usize, cause: &Cause) -> String {
    match (index, cause.confidence) {
        (0, Confidence::Certain) => "root cause".into(),
        (0, Confidence::Likely) => "likely root cause".into(),
        (_, Confidence::Candidate) => "candidate".into(),
        _ => "also".into(),
    }
}

/// Notes from the log where nothing failed, each once.
pub(super) fn noticed(diagnosis: &Diagnosis) -> Vec<&Moment> {
    let mut noticed: Vec<&Moment> = Vec::new();
    if diagnosis.failed() {
        return noticed;
    }
    let success = |moment: &Moment| moment.signature.reports.iter().any(|report| report.is_success());
    let is_context = |moment: &&Moment| moment.role == Role::Context && !success(moment);
    for moment in diagnosis.timeline.iter().filter(is_context) {
        if !noticed.iter().any(|known| known.message == moment.message) {
            noticed.push(moment);
        }
    }
    noticed
}

/// `+12.5s`; empty where the time is unknown.
pub(super) fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or(String::new(), |seconds| format!("+{seconds:.1}s"))
}
