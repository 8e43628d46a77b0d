//! `runtime: nvidia` without anything that names GPUs.

use crate::read::compose::{Compose, IsStack, Service, names_no_device};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "visible-devices-unset",
    severity: Severity::Warning,
    summary: "services with the NVIDIA runtime say which GPUs they get",
    explain: include_str!("visible_devices_unset.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: python:3.12\n    runtime: nvidia\n"),
        compose(
            "services:\n  a:\n    image: python:3.12\n    runtime: nvidia\n    environment: \
                {NVIDIA_VISIBLE_DEVICES: none}\n",
        ),
        compose(
            "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    gpus: all\n    \
                environment: \
             [NVIDIA_DRIVER_CAPABILITIES=graphics]\n    command: nvidia-smi\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: python:3.12\n    runtime: nvidia\n    environment: \
                [NVIDIA_VISIBLE_DEVICES=0]\n",
        ),
        compose("services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    runtime: nvidia\n"),
        compose("services:\n  a:\n    image: python:3.12\n    runtime: nvidia\n    gpus: all\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let own = file.services.iter().filter(|one| !one.extends_elsewhere && file.stack == IsStack::No);
    own.flat_map(|one| [unset(one), capabilities(one)]).flatten().collect()
}

fn unset(service: &Service) -> Option<Found> {
    if service.text("runtime").as_deref() != Some("nvidia") || service.at(&["env_file"]).is_some() {
        return None;
    }
    let requested = service.at(&["gpus"]).is_some() || !service.requests().is_empty();
    let environment = service.environment();
    let line = service.line_of("runtime");
    let fix = "Add `NVIDIA_VISIBLE_DEVICES: all` to `environment`";
    if let Some(value) = environment.get("NVIDIA_VISIBLE_DEVICES") {
        let none = value.as_deref().is_some_and(names_no_device);
        let message = format!(
            "service {} has the NVIDIA runtime, but NVIDIA_VISIBLE_DEVICES={} gives it no GPU",
            service.name,
            value.as_deref().unwrap_or_default()
        );
        return (none && !requested)
            .then(|| Found::warning(line, message, fix).about("NVIDIA_VISIBLE_DEVICES"));
    }
    // Official images do not set it; NVIDIA's and those built on them do.
    let image = service.text("image").filter(|image| !image.contains(['/', '$']))?;
    let devices = service.list(&["devices"]).iter().any(|one| one.contains("nvidia"));
    let message = format!(
        "service {} has the NVIDIA runtime, but neither it nor its image {image} sets \
            NVIDIA_VISIBLE_DEVICES; it gets \
         no GPU",
        service.name
    );
    (!requested && !devices).then(|| Found::warning(line, message, fix).about("NVIDIA_VISIBLE_DEVICES"))
}

/// Without `compute` there is no libcuda in the container, without `utility` no nvidia-smi.
fn capabilities(service: &Service) -> Option<Found> {
    let environment = service.environment();
    let value = environment.get("NVIDIA_DRIVER_CAPABILITIES")?.as_deref()?;
    let has = |name: &str| value.split(',').any(|one| one.trim() == name || one.trim() == "all");
    let graphics_only = !value.is_empty() && !value.contains('$') && !has("compute");
    let uses = service.gpus().is_some();
    let message = format!(
        "service {}: NVIDIA_DRIVER_CAPABILITIES={value} leaves out compute; the container has no libcuda",
        service.name
    );
    (graphics_only && uses)
        .then(|| Found::warning(service.line_of("environment"), message, "Set `compute,utility`"))
        .map(|found| found.about("NVIDIA_DRIVER_CAPABILITIES"))
}
