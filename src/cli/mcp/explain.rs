//! The tool `explain`.

use diagnostic::error::Error;
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LAYOUT, Program};
use crate::cli::explain::{self, ExplainReport};

/// What to explain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Id of a check, lint rule or signature; an error code (`xid 79`, `CUDA error 803`); one line of a log;
    /// a name with or without a version (`torch==2.6.0`, `cu121`, `driver 550`, `h100`); an environment
    /// variable (`NCCL_SOCKET_IFNAME`).
    text: String,
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "explain",
        title: "Explain an id, error or version",
        text: "Explain a finding's id, an error line or code, an environment variable, or a version of \
               torch, CUDA, driver, NCCL, GPU or image: meaning, causes, how to confirm each, fixes, \
               whether the version exists. Offline, from a catalog with sources.",
        lists: &[],
        network: false,
    };
    Tool::new::<Arguments, ExplainReport>(description, move |arguments| run(&program, &arguments))
}

fn run(program: &Program, arguments: &Arguments) -> Result<Answer, Error> {
    let (topic, shown) = explain::explained(program.catalog, &arguments.text, LAYOUT.width)?;
    let report = ExplainReport::new(topic, &shown);
    let explanation = report.explanation.clone();
    Answer::new(&report, explanation)
}
