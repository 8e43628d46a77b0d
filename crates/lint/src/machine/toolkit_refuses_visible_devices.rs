//! Containers that ask for GPUs in a way that the toolkit's configuration forbids.

use std::rc::Rc;

use toml::Table;

use crate::file::Stack;
use crate::read::compose::{Compose, Service, names_no_device};
use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Location, OtherFile, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "toolkit-refuses-visible-devices",
    severity: Severity::Warning,
    summary: "the container toolkit takes NVIDIA_VISIBLE_DEVICES from the containers that rely on it",
    explain: include_str!("toolkit_refuses_visible_devices.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[(
                "compose.yaml",
                "services:\n  a:\n    image: b\n    runtime: nvidia\n    environment:\n      \
                 NVIDIA_VISIBLE_DEVICES: all\n",
            )],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-as-volume-mounts = true\n\
             accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[("device-plugin-values.yaml", "runtimeClassName: nvidia\ndeviceListStrategy: envvar\n")],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n",
            &[(
                "plugin.yaml",
                "kind: DaemonSet\nspec:\n  template:\n    spec:\n      containers:\n        - \
                 env:\n            - \
                 name: DEVICE_LIST_STRATEGY\n              value: volume-mounts\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-as-volume-mounts = true\n\
             accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[("device-plugin-values.yaml", "deviceListStrategy:\n  - volume-mounts\n  - envvar\n")],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n",
            &[("device-plugin-values.yaml", "# deviceListStrategy: envvar\ndeviceListStrategy: [cdi-cri]\n")],
        ),
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

const MOUNTS: &str = "accept-nvidia-visible-devices-as-volume-mounts";

/// Device plugins that hand GPUs to pods in a way that this configuration refuses.
fn of_device_plugin(machine: &Machine, table: &Table) -> Option<Found> {
    let on = |key: &str| table.get(key).and_then(toml::Value::as_bool);
    machine.others.iter().find_map(|other| {
        let (strategies, line) = strategies(&other.text)?;
        let only = |name: &str| strategies.iter().all(|one| one == name);
        let (message, fix) = if only("envvar") && on(KEY) == Some(false) {
            let message = format!(
                "the device plugin names the GPUs of a pod in NVIDIA_VISIBLE_DEVICES (envvar), but {} has \
                 {KEY} \
                 = false: pods that are not privileged get no GPU",
                machine.name
            );
            let fix = match on(MOUNTS) {
                Some(true) => "Write `deviceListStrategy: volume-mounts`".to_owned(),
                _ => format!("Write `deviceListStrategy: volume-mounts`, and set `{MOUNTS} = true`"),
            };
            (message, fix)
        } else if only("volume-mounts") && on(MOUNTS) != Some(true) {
            let message = format!(
                "the device plugin names the GPUs of a pod by mounts (volume-mounts), but {} does not have \
                 {MOUNTS} = true: pods get no GPU",
                machine.name
            );
            (message, format!("Set `{MOUNTS} = true` in the toolkit's configuration"))
        } else {
            return None;
        };
        let file = Some(Rc::new(OtherFile { path: other.name.clone(), by: None }));
        Some(Found::warning(Location::new(file, line), message, fix))
    })
}

/// How a device plugin hands its list of devices to containers, by values of its chart, its configuration or
/// its DaemonSet, and the line that says so.
fn strategies(text: &str) -> Option<(Vec<String>, usize)> {
    const WORDS: &[&str] = &["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];
    let marks = ["deviceListStrategy", "DEVICE_LIST_STRATEGY", "--device-list-strategy"];
    let lines: Vec<&str> = text.lines().collect();
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let at =
        lines.iter().position(|line| !is_comment(line) && marks.iter().any(|mark| line.contains(mark)))?;
    let words = |line: &str| -> Vec<String> {
        let split = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        split.filter(|word| WORDS.contains(word)).map(str::to_owned).collect()
    };
    let mut found = words(lines[at].split(" #").next().unwrap_or_default());
    // A list in block style, or the value of a variable, is on the next lines.
    for line in lines.iter().skip(at + 1).take(if found.is_empty() { WORDS.len() } else { 0 }) {
        let item = line.trim_start();
        if !item.starts_with("- ") && !item.starts_with("value:") || item.contains("name:") {
            break;
        }
        found.extend(words(line));
    }
    (!found.is_empty()).then_some((found, at + 1))
}

fn judge(machine: &Machine) -> Vec<Found> {
    let read = machine.text.parse::<Table>();
    let (Kind::ToolkitConfig, Ok(table)) = (machine.kind, read) else { return Vec::new() };
    if let Some(found) = of_device_plugin(machine, &table) {
        return vec![found];
    }
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
        && devices.is_some_and(|devices| !names_no_device(devices) && !devices.contains('$'))
        && service.text("privileged").as_deref() != Some("true")
        && !admin
        && !mounts
        && service.requests().is_empty()
        && service.at(&["devices"]).is_none()
}
