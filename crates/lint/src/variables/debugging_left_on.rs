//! A variable for finding faults is set.

use crate::read::settings::{Held, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};
use checks::debug_variable_left_on::effect;

/// The rule.
pub const RULE: Rule = Rule {
    id: "debugging-left-on",
    severity: Severity::Warning,
    summary: "no variable for finding faults is set for good",
    explain: "\
## What it finds
CUDA_LAUNCH_BLOCKING, CUDA_FORCE_PTX_JIT, NCCL_DEBUG=TRACE, NCCL_DEBUG_SUBSYS with every collective,
TORCH_NCCL_BLOCKING_WAIT, TORCH_DISTRIBUTED_DEBUG=DETAIL, PYTORCH_NO_CUDA_MEMORY_CACHING: a warning where
a file
sets them for all that runs, a note for a single command. NCCL_DEBUG=INFO is a note; WARN costs nothing.

## Why it matters
Each of them makes every step slower. CUDA_LAUNCH_BLOCKING can bring NCCL to a standstill where one process
drives several GPUs; with TORCH_NCCL_BLOCKING_WAIT no watchdog runs, and its records are lost: it changes
how the
wait is done, and makes no network faster.

## How to fix it
Take it out for real runs; NCCL_DEBUG=WARN tells of errors at no cost.

## Sources
- NVIDIA/nccl: docs/userguide/source/env.rst, src/misc/cudawrap.cc
- PyTorch 2.15.0: c10d/ProcessGroupNCCL.hpp
- https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
",
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export CUDA_LAUNCH_BLOCKING=1\ntorchrun train.py\n"),
        named("Dockerfile", "FROM python:3.12\nENV TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO\n"),
        named("train.env", "TORCH_NCCL_BLOCKING_WAIT=1\n"),
    ],
    silent: &[
        named("train.env", "NCCL_DEBUG=WARN\nCUDA_LAUNCH_BLOCKING=0\nNCCL_DEBUG_SUBSYS=INIT,NET\n"),
        named("train.sh", "NCCL_DEBUG=INFO torchrun test.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let found = settings.known().filter_map(|(scope, one, value)| {
        let log = scope
            .value("NCCL_DEBUG")
            .is_some_and(|level| ["INFO", "TRACE"].iter().any(|on| level.eq_ignore_ascii_case(on)));
        if one.name == "NCCL_DEBUG" && value.eq_ignore_ascii_case("INFO") {
            let says = "NCCL_DEBUG=INFO writes hundreds of lines a rank, for finding faults".to_owned();
            let lasting = one.held != Held::Command;
            return lasting.then(|| Found::note(one.place.clone(), says, "NCCL_DEBUG=WARN"));
        }
        let effect = effect(&one.name, value, log)?;
        let says = format!("{}={value} is for finding faults: {effect}", one.name);
        let found = Found::warning(one.place.clone(), says, "take it out for real runs");
        Some(match one.held {
            Held::Command => Found { severity: Severity::Note, ..found },
            _ => found,
        })
    });
    found.collect()
}
