//! The tool `resolve`.

use ::build::{Machines, Requirements};
use checks::IMAGE_CHECKS;
use diagnostic::error::Error;
use diagnostic::terminal;
use facts::Expected;
use mcp::{Answer, Description, Tool};
use resolve::parse::{self, StackOptions};
use resolve::report::Report;
use resolve::report::json::{self, ResolveReport};
use resolve::request::Prefer;
use resolve::universe::Universe;
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::{self, NamedPath};
use super::{LAYOUT, Program, machine};
use crate::cli::stack_args;

/// What the stack must have and support. A version is the beginning of one (`12.1`) or a range
/// (`>=2.4,<2.7`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// CUDA of the torch build: `12.4`, or `cpu` for none.
    cuda: Option<String>,
    /// Python version: `3.12`.
    python: Option<String>,
    /// torch version: `2.5`, `>=2.4,<2.7`, `2.6.0+cu124`.
    torch: Option<String>,
    /// DeepSpeed: a version, or `any`.
    deepspeed: Option<String>,
    /// More packages: `numpy`, `trl>=0.9,<1.0`.
    #[serde(default)]
    with: Vec<String>,
    /// Package sets: `torch`, `train`, `finetune`, `pretrain`, `rl`, `serve`.
    #[serde(default)]
    preset: Vec<String>,
    /// GPUs to support: `h100`, `RTX 4090`, `sm_86`.
    #[serde(default)]
    gpu: Vec<String>,
    /// Driver to support: `550.54.14`, or the branch `550`.
    driver: Option<String>,
    /// Snapshot files of recorded machines to support, made with `envdoc snapshot`.
    #[serde(default)]
    from: Vec<NamedPath>,
    /// Support this machine.
    #[serde(default)]
    here: bool,
    /// CPU architecture: `x86_64` or `aarch64` [default: that of the machines, else x86_64].
    arch: Option<String>,
    /// Base image: `nvidia/cuda`, `python`, `pytorch`, `ngc`, a full reference, or `none`.
    base: Option<String>,
    /// Operating system of the image: `ubuntu22.04`, `debian12`.
    os: Option<String>,
    /// Include nvcc and a compiler that nvcc supports.
    #[serde(default)]
    compile: bool,
    /// Ranking of compatible stacks.
    #[serde(default)]
    prefer: Preference,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Preference {
    /// The newest torch.
    #[default]
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// What is already installed on the machine, where possible.
    Installed,
}

impl From<Preference> for Prefer {
    fn from(preference: Preference) -> Prefer {
        match preference {
            Preference::Newest => Prefer::Newest,
            Preference::Stable => Prefer::Stable,
            Preference::Installed => Prefer::Installed,
        }
    }
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "resolve",
        title: "Find compatible versions",
        text: "Find versions of driver, CUDA, Python, torch, DeepSpeed, NCCL and other packages that \
               work together, with the reasons, the rejected alternatives and the base image; or the \
               conflict and the nearest stacks. What is not named is chosen. Offline, from a catalog of \
               releases that exist.",
        lists: &["/rejected", "/nearest", "/because"],
        network: false,
    };
    Tool::new::<Arguments, ResolveReport>(description, move |arguments| run(&program, arguments))
}

fn run(program: &Program, arguments: Arguments) -> Result<Answer, Error> {
    let universe = &Universe::new(program.catalog);
    let machines = Machines {
        snapshots: path::all(arguments.from),
        here: arguments.here,
        checks: IMAGE_CHECKS,
        prefer: arguments.prefer.into(),
    };
    let any = |version: String| if version == "any" { String::new() } else { version };
    let options = StackOptions {
        cuda: arguments.cuda,
        python: arguments.python,
        torch: arguments.torch,
        deepspeed: arguments.deepspeed.map(any),
        with: arguments.with,
        preset: arguments.preset,
        gpu: arguments.gpu,
        driver: arguments.driver,
        os: arguments.os,
        arch: arguments.arch,
        base: arguments.base,
        compile: arguments.compile,
    };
    let parsed = parse::requirements(universe, &options)?;
    let here = || Ok(machine::facts(program, machine::here(program, None, true)?, Expected::default()));
    let Requirements { request, warnings, notes, .. } =
        machines.requirements(program.catalog, parsed, &stack_args::today(), &here)?;
    let outcome = resolve::resolve(universe, &request);
    let report = Report {
        requirements: &request.requirements,
        outcome: &outcome,
        warnings: &warnings,
        notes: &notes,
        project: None,
    };
    let text = resolve::report::text::report(&report, LAYOUT);
    Answer::new(&json::report(&report), terminal::plain(&text))
}
