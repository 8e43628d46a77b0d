//! A daemon.json that dockerd refuses or does not use.

use super::Machine;
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "daemon-json-refused",
    severity: Severity::Error,
    summary: "dockerd starts with daemon.json, and uses all of it",
    explain: "\
## What it finds
What `envdoc check` says of the file: text that is no JSON, keys that dockerd does not know or knows and
does not use,
values of the wrong type, settings that exclude each other. With `--from` or `--here` also what only the
machine
tells (its flags, its version of Docker).

## Why it matters
dockerd does not start with a file that it cannot take; after the next reboot nothing on the machine does.

## How to fix it
As the finding says; `dockerd --validate` tries the file. The runtime of NVIDIA is written by `nvidia-ctk
runtime
configure --runtime=docker`; `--gpus` needs no entry, `--runtime=nvidia` and older compose files do.

## Sources
- `envdoc explain daemon-json-invalid`, `envdoc explain daemon-json-unknown-key`, `envdoc explain
  daemon-json-flag-conflict`
- moby/moby: daemon/config/config.go
",
    judge: Judge::Machine(judge),
    fires: &[
        named("daemon.json", "{\n  \"default-runtime\": \"nvidia\",\n}\n"),
        named("daemon.json", "{\n  \"registry-mirror\": [\"https://mirror.example\"]\n}\n"),
    ],
    silent: &[named(
        "daemon.json",
        "{\n  \"default-runtime\": \"nvidia\",\n  \"runtimes\": {\"nvidia\": {\"path\": \"nvidia-container-runtime\", \"args\": []}}\n}\n",
    )],
};

fn judge(machine: &Machine) -> Vec<Found> {
    machine.judged(&[
        "daemon-json-invalid",
        "daemon-json-unknown-key",
        "daemon-json-flag-conflict",
        "swarm-with-live-restore",
    ])
}
