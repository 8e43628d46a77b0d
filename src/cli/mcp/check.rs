//! The tool `check`.

use ::config::OwnCheck;
use diagnostic::error::Error;
use diagnostic::layout::Layout;
use diagnostic::report::Outcome;
use diagnostic::{render, terminal};
use facts::Fact;
use judge::report::{self, json};
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::NamedPath;
use super::{LAYOUT, Program, machine};
use crate::cli::check;
use crate::cli::check_selection::{self, Selection};

/// What to check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Snapshot file of a recorded machine, made with `envdoc snapshot` [default: this machine].
    from: Option<NamedPath>,
    /// Only these checks or groups: `driver`, `gpu-lost`.
    #[serde(default)]
    only: Vec<String>,
    /// Skip these checks or groups.
    #[serde(default)]
    ignore: Vec<String>,
    /// What the machine should have: `gpus=8`, `driver>=550`, `cuda=12.4`, `nccl=2.21`, `rdma=true`,
    /// `role=build-host|gpu-node|container`.
    #[serde(default)]
    expect: Vec<String>,
    /// Timeout for reading this machine, in seconds [default: 2, on a busy machine up to 8].
    timeout: Option<f64>,
    /// Replace names of people, machines and networks by placeholders.
    #[serde(default = "machine::redacted_by_default")]
    redact: bool,
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "check",
        title: "Check a GPU machine",
        text: "Find what is wrong with this machine or a recorded one: NVIDIA driver, GPUs, CUDA, NCCL, \
               fabric, container toolkit, Docker, Python, limits. Returns one result per check with its \
               status (pass, warning, error, unknown, not-applicable), the evidence and the commands \
               that fix it. `unknown` is not healthy: it could not be checked.",
        lists: &["/results"],
        network: false,
    };
    Tool::new::<Arguments, json::CheckReport>(description, move |arguments| run(&program, &arguments))
}

fn run(program: &Program, arguments: &Arguments) -> Result<Answer, Error> {
    let settings = program.settings(arguments.redact)?;
    let elsewhere = arguments.from.as_ref().map(|_| "leave out `from`");
    let Selection { checks, own, ignored } =
        check_selection::select(&settings, &arguments.only, &arguments.ignore, elsewhere)?;
    let expected = check::expected(settings.expected(), &arguments.expect)?;
    let snapshot = match &arguments.from {
        Some(file) => machine::recorded(file.as_ref(), arguments.redact)?,
        None => machine::here(program, machine::timeout(arguments.timeout)?, arguments.redact)?,
    };
    let facts = machine::facts(program, snapshot, expected);
    let results = judge::judge(&checks, &facts);
    let own: Vec<Outcome> = own.into_iter().map(not_run).collect();
    let root = facts.system.uid == Fact::Known(0);
    let report = report::report(&facts, &results, &own).without(ignored.clone());
    let text = render::text::report(&report, Layout { root, ..LAYOUT });
    Answer::new(&json::report(&facts, &results, &own, ignored), terminal::plain(&text))
}

/// Tools only read, and an own check is a command.
fn not_run(check: &OwnCheck) -> Outcome {
    let id = check.id();
    check.unknown(format!("envdoc mcp runs no commands from settings files; run `envdoc check --only {id}`"))
}
