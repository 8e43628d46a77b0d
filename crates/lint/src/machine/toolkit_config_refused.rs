//! A config.toml of the container toolkit that it refuses or that switches GPUs off.

use super::Machine;
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "toolkit-config-refused",
    severity: Severity::Error,
    summary: "the container toolkit can read its config.toml",
    explain: "\
## What it finds
What `envdoc check` says of `/etc/nvidia-container-runtime/config.toml`: text that is no TOML, `no-cgroups
= true`
on a host with rootful Docker, a driver root that is none.

## Why it matters
The runtime reads the file at every start of a container: no container with GPUs starts, or the GPUs in it
answer
\"Unknown Error\".

## How to fix it
As the finding says; `nvidia-ctk config --in-place --set …` writes the file.

## Sources
- `envdoc explain toolkit-config-invalid`, `envdoc explain toolkit-cgroups-disabled`
- NVIDIA/nvidia-container-toolkit: internal/config
",
    judge: Judge::Machine(judge),
    fires: &[named("nvidia-container-runtime/config.toml", "[nvidia-container-cli\nno-cgroups = true\n")],
    silent: &[named(
        "nvidia-container-runtime/config.toml",
        "[nvidia-container-cli]\n#no-cgroups = false\n\n[nvidia-container-runtime]\nmode = \"auto\"\n",
    )],
};

fn judge(machine: &Machine) -> Vec<Found> {
    machine.judged(&["toolkit-config-invalid", "toolkit-cgroups-disabled", "toolkit-driver-root-wrong"])
}
