//! The tool `diagnose`.

use diagnose::report::json::{self, DiagnoseReport};
use diagnose::report::text;
use diagnose::root_cause;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use facts::Expected;
use host::redact::LogRedactor;
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::path::{self, NamedPath};
use super::{LAYOUT, Program, machine};
use crate::cli::diagnose::{of_machine, reads, require_lines};

/// The logs, and the machine on which causes are confirmed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Log files (also gzip or zstd), or directories of log files.
    paths: Vec<NamedPath>,
    /// Snapshot file of a recorded machine, made with `envdoc snapshot`, whose checks confirm or rule out
    /// causes.
    from: Option<NamedPath>,
    /// Confirm or rule out causes with the checks of this machine.
    #[serde(default)]
    here: bool,
    /// Replace names of people, machines and networks by placeholders, and credentials by `***`.
    #[serde(default = "machine::redacted_by_default")]
    redact: bool,
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "diagnose",
        title: "Find the root cause in logs",
        text: "Find the root cause in the logs of a failed training or inference job: what failed \
               first, on which rank and node, the evidence lines, possible causes and how to confirm \
               each, and the fix. The first of `causes` is the root cause; `unmatched_errors` are \
               errors without an explanation.",
        lists: &["/causes", "/timeline", "/suspicious", "/last", "/unmatched_errors", "/unread", "/remarks"],
        network: false,
    };
    Tool::new::<Arguments, DiagnoseReport>(description, move |arguments| run(&program, arguments))
}

fn run(program: &Program, arguments: Arguments) -> Result<Answer, Error> {
    if arguments.paths.is_empty() {
        return Err(Error::new(Kind::Usage, "`paths` is empty: name at least one log file"));
    }
    if arguments.here && arguments.from.is_some() {
        return Err(Error::new(Kind::Usage, "`here` and `from` cannot be used together"));
    }
    let snapshot = match (&arguments.from, arguments.here) {
        (Some(file), _) => Some(machine::recorded(file.as_ref(), arguments.redact)?),
        (None, true) => Some(machine::here(program, None, arguments.redact)?),
        (None, false) => None,
    };
    let facts = snapshot.map(|snapshot| machine::facts(program, snapshot, Expected::default()));
    let reads = reads(program.catalog, &path::all(arguments.paths))?;
    let diagnosis = root_cause::diagnose(program.catalog, &reads, facts.as_ref().map(of_machine));
    if !diagnosis.failed() {
        require_lines(&reads)?;
    }
    let text = terminal::plain(&text::report(&diagnosis, LAYOUT, false));
    let mut answer = Answer::new(&json::report(&diagnosis), text)?;
    if arguments.redact {
        let redactor = &mut LogRedactor::new(&diagnosis.nodes);
        redact(&mut answer.document, redactor);
        answer.text = redactor.text(answer.text.trim_end()) + "\n";
    }
    Ok(answer)
}

/// Keys whose values are words of envdoc, never of a log.
const WORDS: &[&str] = &["check", "component", "confidence", "envdoc", "id", "outcome", "role"];

/// Replaces what names people, machines and networks in every text of the document.
fn redact(value: &mut Value, redactor: &mut LogRedactor) {
    match value {
        Value::String(text) => *text = redactor.text(text),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| redact(entry, redactor)),
        Value::Object(entries) => {
            for (_, entry) in entries.iter_mut().filter(|(key, _)| !WORDS.contains(&key.as_str())) {
                redact(entry, redactor);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
