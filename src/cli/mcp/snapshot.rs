//! The tool `snapshot`.

use diagnostic::error::Error;
use host::snapshot::Snapshot;
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Program, machine};

/// How to record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Timeout for reading this machine, in seconds [default: 2, on a busy machine up to 8].
    timeout: Option<f64>,
    /// Replace names of people, machines and networks by placeholders.
    #[serde(default = "machine::redacted_by_default")]
    redact: bool,
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "snapshot",
        title: "Record this machine",
        text: "Record what `check` reads on this machine: files, outputs of programs, answers of the \
               Docker engine, each with the question as its key. For a bug report, or as a file for the \
               argument `from` of other tools. Nothing is written; large answers come in parts.",
        lists: &["/readings"],
        network: false,
    };
    Tool::new::<Arguments, Snapshot>(description, move |arguments| run(&program, &arguments))
}

fn run(program: &Program, arguments: &Arguments) -> Result<Answer, Error> {
    let snapshot = machine::here(program, machine::timeout(arguments.timeout)?, arguments.redact)?;
    let names = if arguments.redact { "replaced by placeholders" } else { "kept" };
    let text = format!(
        "{} readings of this machine; names, addresses and serial numbers are {names}\n",
        snapshot.readings.len()
    );
    Answer::new(&snapshot, text)
}
