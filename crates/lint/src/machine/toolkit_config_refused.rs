//! A config.toml of the container toolkit that it refuses or that switches GPUs off.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "toolkit-config-refused",
    severity: Severity::Error,
    summary: "the container toolkit can read its config.toml",
    explain: include_str!("toolkit_config_refused.md"),
    judge: Judge::Machine(judge),
    fires: &[named("nvidia-container-runtime/config.toml", "[nvidia-container-cli\nno-cgroups = true\n")],
    silent: &[named(
        "nvidia-container-runtime/config.toml",
        "[nvidia-container-cli]\n#no-cgroups = false\n\n[nvidia-container-runtime]\nmode = \"auto\"\n",
    )],
};

fn judge(machine: &Machine) -> Vec<Found> {
    super::judged(
        machine,
        &["toolkit-config-invalid", "toolkit-cgroups-disabled", "toolkit-driver-root-wrong"],
    )
}
