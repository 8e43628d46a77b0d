//! Parts of the driver that the container does not get.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "driver-capabilities-incomplete",
    severity: Severity::Warning,
    summary: "NVIDIA_DRIVER_CAPABILITIES includes compute, and only known words",
    explain: include_str!("driver_capabilities_incomplete.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("Dockerfile", "FROM python:3.12\nENV NVIDIA_DRIVER_CAPABILITIES=graphics,utility\n"),
        named("Dockerfile", "FROM python:3.12\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utilities\n"),
        named(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    environment:\n      NVIDIA_DRIVER_CAPABILITIES: utility\n",
        ),
    ],
    silent: &[
        named("Dockerfile", "FROM python:3.12\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,video\n"),
        named("Dockerfile", "FROM python:3.12\nENV NVIDIA_DRIVER_CAPABILITIES=all\n"),
        named("train.sh", "export NVIDIA_DRIVER_CAPABILITIES=utility\nnvidia-smi\n"),
        // A tool that asks NVML needs no more.
        named(
            "Dockerfile",
            "FROM debian:12\nCOPY mig-manager /usr/bin/\nENV NVIDIA_DRIVER_CAPABILITIES=utility\n",
        ),
        named("Dockerfile", "FROM python:3.12\nARG C\nENV NVIDIA_DRIVER_CAPABILITIES=$C\n"),
    ],
};

const WORDS: &[&str] = &["compute", "compat32", "graphics", "utility", "video", "display", "ngx", "all"];

fn judge(settings: &Settings) -> Vec<Found> {
    use crate::kind::Kind;
    // A script sets it for nobody: the runtime reads it of the container.
    let read = matches!(settings.kind, Some(Kind::Dockerfile | Kind::Compose | Kind::Environment));
    let is_image = settings.kind == Some(Kind::Dockerfile);
    let known = settings.known().filter(|(_, one, _)| read && one.name == "NVIDIA_DRIVER_CAPABILITIES");
    known
        .filter_map(|(_, one, value)| {
            let words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
            let message = match words.iter().find(|word| !WORDS.contains(word)) {
                Some(word) => format!(
                    "NVIDIA_DRIVER_CAPABILITIES={value}: `{word}` is not a capability; the \
                    container does not start"
                ),
                None if words.is_empty() || words.contains(&"all") || words.contains(&"compute") => {
                    return None;
                }
                // All that tools need which ask the driver about the GPUs: NVML.
                None if words == ["utility"] && is_image && !settings.computes => return None,
                None => format!(
                    "NVIDIA_DRIVER_CAPABILITIES={value} leaves out compute: libcuda is not \
                    mounted, and CUDA finds no driver"
                ),
            };
            Some(Found::warning(
                one.location.clone(),
                message,
                "Set `compute,utility`, with what else is \
                needed",
            ))
        })
        .collect()
}
