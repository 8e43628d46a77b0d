//! Containers that ask for GPUs in a way that the toolkit's configuration forbids.

use toml::Table;

use crate::file::Stack;
use crate::read::compose::{Compose, Service};
use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "toolkit-refuses-visible-devices",
    severity: Severity::Warning,
    summary: "the container toolkit takes NVIDIA_VISIBLE_DEVICES from the containers that rely on it",
    explain: include_str!("toolkit_refuses_visible_devices.md"),
    judge: Judge::Machine(judge),
    fires: &[named_with(
        "nvidia-container-runtime/config.toml",
        "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
        &[(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    runtime: nvidia\n    environment:\n      \
             NVIDIA_VISIBLE_DEVICES: all\n",
        )],
    )],
    silent: &[
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[(
                "compose.yaml",
                "services:\n  a:\n    image: b\n    runtime: nvidia\n    privileged: true\n    \
                 environment: [NVIDIA_VISIBLE_DEVICES=all]\n",
            )],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n",
            &[(
                "compose.yaml",
                "services:\n  a:\n    image: b\n    runtime: nvidia\n    \
                 environment: [NVIDIA_VISIBLE_DEVICES=all]\n",
            )],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-as-volume-mounts = true\n\
             accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[(
                "compose.yaml",
                "services:\n  a:\n    image: b\n    runtime: nvidia\n    volumes: \
                 [\"/dev/null:/var/run/nvidia-container-devices/all\"]\n    \
                 environment: [NVIDIA_VISIBLE_DEVICES=all]\n",
            )],
        ),
    ],
};

const KEY: &str = "accept-nvidia-visible-devices-envvar-when-unprivileged";

fn judge(machine: &Machine) -> Vec<Found> {
    let read = machine.text.parse::<Table>();
    let (Kind::ToolkitConfig, Ok(table)) = (machine.kind, read) else { return Vec::new() };
    if table.get(KEY).and_then(toml::Value::as_bool) != Some(false) {
        return Vec::new();
    }
    let line =
        machine.text.lines().position(|line| line.trim_start().starts_with(KEY)).map_or(1, |at| at + 1);
    let found = machine.others.iter().find_map(|other| {
        let compose = Compose::read(machine.catalog, &other.text, &[], Stack::Unsaid);
        let service = compose.services.iter().find(|service| relies(service))?;
        let message = format!(
            "{KEY} = false, but service {} of {} (line {}) is not privileged and asks for its GPUs with \
             NVIDIA_VISIBLE_DEVICES; it gets none",
            service.name, other.name, service.line.line
        );
        let fix = format!("Set `{KEY} = true`, or request the GPUs with CDI devices");
        Some(Found::warning(line, message, fix))
    });
    found.into_iter().collect()
}

/// Whether a service has its GPUs by the variable alone.
fn relies(service: &Service) -> bool {
    let environment = service.environment();
    let devices = environment.get("NVIDIA_VISIBLE_DEVICES").and_then(Option::as_deref);
    // CAP_SYS_ADMIN is what the toolkit takes for privileged.
    let admin = service.list(&["cap_add"]).iter().any(|one| one.contains("SYS_ADMIN") || one == "ALL");
    let mounts = service.list(&["volumes"]).iter().any(|one| one.contains("nvidia-container-devices"));
    service.text("runtime").as_deref() == Some("nvidia")
        && devices.is_some_and(|devices| !matches!(devices, "" | "none" | "void") && !devices.contains('$'))
        && service.text("privileged").as_deref() != Some("true")
        && !admin
        && !mounts
        && service.requests().is_empty()
        && service.at(&["devices"]).is_none()
}
