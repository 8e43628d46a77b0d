//! A variable for finding faults is set.

use crate::read::settings::{Held, Scope, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};
use judge::debug_variables::effect;

pub(crate) const RULE: Rule = Rule {
    id: "debugging-left-on",
    severity: Severity::Warning,
    summary: "no debugging variable is set permanently",
    explain: include_str!("debugging_left_on.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export CUDA_LAUNCH_BLOCKING=1\ntorchrun train.py\n"),
        named("Dockerfile", "FROM python:3.12\nENV TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO\n"),
        named("train.env", "TORCH_NCCL_BLOCKING_WAIT=1\n"),
    ],
    silent: &[
        named("train.env", "NCCL_DEBUG=WARN\nCUDA_LAUNCH_BLOCKING=0\nNCCL_DEBUG_SUBSYS=INIT,NET\n"),
        named("train.sh", "NCCL_DEBUG=INFO torchrun test.py\n"),
        // A switch for debugging.
        named(
            "train.sh",
            "if (( debug )); then\n  export TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO\nfi\n",
        ),
        named("train.env", "NCCL_DEBUG_SUBSYS=^NET,COLL\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.scopes.iter().flat_map(in_scope).collect()
}

fn in_scope(scope: &Scope) -> Vec<Found> {
    let log = scope
        .value("NCCL_DEBUG")
        .is_some_and(|level| ["INFO", "TRACE"].iter().any(|on| level.eq_ignore_ascii_case(on)));
    // In an `if` it is a switch for debugging.
    let found = scope.known().filter(|(one, _)| one.certain).filter_map(|(one, value)| {
        if one.name == "NCCL_DEBUG" && value.eq_ignore_ascii_case("INFO") {
            let message = "NCCL_DEBUG=INFO is a debugging setting; it writes hundreds of log lines per \
                rank"
                .to_owned();
            let lasting = one.held != Held::Command;
            return lasting.then(|| Found::note(one.location.clone(), message, "Set NCCL_DEBUG=WARN"));
        }
        // `^NET,COLL` leaves these out of the log.
        if one.name == "NCCL_DEBUG_SUBSYS" && value.starts_with('^') {
            return None;
        }
        let effect = effect(&one.name, value, log)?;
        let message = format!("{}={value} is a debugging setting: {effect}", one.name);
        let found = Found::warning(one.location.clone(), message, "Remove it for production runs");
        Some(match one.held {
            Held::Command => Found { severity: Severity::Note, ..found },
            _ => found,
        })
    });
    found.collect()
}
