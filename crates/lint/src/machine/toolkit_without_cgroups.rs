//! The container toolkit gives containers no device cgroups.

use toml::Table;

use crate::file::Over;
use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "toolkit-without-cgroups",
    severity: Severity::Warning,
    summary: "no-cgroups of the container toolkit is set only for rootless containers",
    explain: include_str!("toolkit_without_cgroups.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("nvidia-container-runtime/config.toml", "[nvidia-container-cli]\nno-cgroups = true\n"),
        named_with(
            "nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nno-cgroups = true\n",
            &[("home/ml/install.sh", "#!/bin/sh\n# not rootless\nsystemctl restart docker\n")],
        ),
    ],
    silent: &[
        named("nvidia-container-runtime/config.toml", "[nvidia-container-cli]\nno-cgroups = false\n"),
        named(
            "nvidia-container-runtime/config.toml",
            "# rootless Docker\n[nvidia-container-cli]\nno-cgroups = true\n",
        ),
        named(
            "/home/ci/.config/nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nno-cgroups = true\n",
        ),
        named_with(
            "etc/nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nno-cgroups = true\n",
            &[("home/ml/.config/docker/daemon.json", "{}")],
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nno-cgroups = true\n",
            &[("install.sh", "#!/bin/sh\nsystemctl --user enable --now docker\n")],
        ),
        named(
            "nvidia-container-runtime/config.toml",
            "# ~/.config/nvidia-container-runtime/config.toml\n[nvidia-container-cli]\nno-cgroups = true\n",
        ),
        named_with(
            "nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nno-cgroups = true\n",
            &[("docker.service", "[Service]\nExecStart=/usr/bin/dockerd-rootless.sh\n")],
        ),
    ],
};

/// Whether a file is in a user's home, where rootless engines have their configuration.
fn in_home(name: &str) -> bool {
    name.contains(".config/") || name.starts_with("home/") || name.contains("/home/")
}

fn is_script(one: &Over) -> bool {
    one.name.ends_with(".sh") || one.name.ends_with(".service") || one.text.starts_with("#!")
}

/// Whether a script sets up an engine that runs as a user.
fn sets_up_rootless(one: &Over) -> bool {
    let signs = ["rootless", ".config/docker", "XDG_RUNTIME_DIR/docker.sock", "podman"];
    let code = one.text.lines().filter(|line| !line.trim_start().starts_with('#'));
    code.into_iter().any(|line| {
        signs.iter().any(|sign| line.contains(sign))
            || (line.contains("systemctl") && line.contains("--user") && line.contains("docker"))
    })
}

fn judge(machine: &Machine) -> Vec<Found> {
    let read = machine.text.parse::<Table>();
    let (Kind::ToolkitConfig, Ok(table)) = (machine.kind, read) else { return Vec::new() };
    let set = table.get("nvidia-container-cli").and_then(|section| section.get("no-cgroups"));
    let text = machine.text.to_ascii_lowercase();
    let rootless = ["rootless", "podman", "unprivileged user", ".config/nvidia-container-runtime"]
        .iter()
        .any(|word| text.contains(word));
    let of_user = |one: &Over| match is_script(one) {
        true => sets_up_rootless(one),
        false => in_home(&one.name),
    };
    let of_user = in_home(&machine.name) || machine.others.iter().any(of_user);
    if set.and_then(toml::Value::as_bool) != Some(true) || rootless || of_user {
        return Vec::new();
    }
    let line = machine.text.lines().position(|line| line.trim_start().starts_with("no-cgroups"));
    let message = "no-cgroups = true is for rootless containers; under dockerd as root containers get no \
        access to the GPU devices (`Failed to initialize NVML: Unknown Error`)";
    vec![Found::warning(line.map_or(1, |index| index + 1), message, "Set `no-cgroups = false`")]
}
