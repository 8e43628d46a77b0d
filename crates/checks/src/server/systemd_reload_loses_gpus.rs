//! A daemon-reload takes the GPUs from running containers.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::toolkit;
use facts::Fact;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "systemd-reload-loses-gpus",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "running containers keep their GPUs after a systemd daemon-reload",
    explain: include_str!("systemd_reload_loses_gpus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    if *docker.rootless().require("no engine")? {
        return Err(Verdict::NotApplicable(
            "a rootless engine does not restrict devices with cgroups".into(),
        ));
    }
    let driver = docker.info_text(&["CgroupDriver"]);
    if driver.require("the engine reports no cgroup driver")? != "systemd" {
        return Ok(Verdict::Pass);
    }
    let Some(version) = facts.toolkit.version.decided()? else {
        return Err(Verdict::NotApplicable("the container toolkit is not installed".into()));
    };
    // Without a driver no container has GPUs to lose, and no CDI specification can be made.
    if facts.driver.module == Fact::Absent && facts.system.wsl == Fact::Absent {
        return Err(Verdict::NotApplicable("no NVIDIA driver is loaded".into()));
    }
    if docker.gives_gpus_by_cdi(&facts.toolkit)? {
        return Ok(Verdict::Pass);
    }
    if facts.toolkit.program("nvidia-container-runtime-hook").decided()?.is_none() {
        return Err(Verdict::NotApplicable("the toolkit's hook is not installed".into()));
    }
    let mode = facts.toolkit.mode();
    let mode = mode.require("the toolkit's mode is unknown")?.as_str();
    let new = facts.toolkit.at_least(toolkit::TOOLKIT_DEFAULTS_TO_CDI);
    let cdi_mode =
        matches!(mode, "cdi" | "jit-cdi") || (mode == "auto" && new.decided()?.is_some_and(|new| *new));
    if cdi_mode && docker.info_text(&["DefaultRuntime"]) == Fact::Known("nvidia".into()) {
        return Ok(Verdict::Pass);
    }
    let message = "systemd manages container cgroups and --gpus uses the toolkit's hook; `systemctl \
                   daemon-reload` can remove GPUs from running containers (\"Failed to initialize NVML: \
                   Unknown Error\")";
    let by_cdi = !docker.cdi_directories().known().is_none_or(Vec::is_empty);
    let fix = if by_cdi {
        Fix::safe(
            "Generate a CDI specification and start containers with --device instead of --gpus:",
            &[
                "sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml",
                "docker run --rm --device nvidia.com/gpu=all IMAGE",
            ],
        )
    } else {
        Fix::restarts_service(
            "Upgrade Docker to 29.2 or newer with a CDI specification, or set \"exec-opts\": \
             [\"native.cgroupdriver=cgroupfs\"] in daemon.json, then restart it:",
            &["sudo systemctl restart docker"],
        )
    };
    let engine = docker.info_text(&["ServerVersion"]).known().cloned().unwrap_or_default();
    Ok(Verdict::warning(message, fix)
        .evidence(format!("Docker {engine}, toolkit {version} in mode {mode}, cgroup driver systemd")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::gpu_host;

    use facts::testing::sparse::{SOCKET, engine};

    fn of(version: &str, driver: &str, runtime: &str, toolkit: &str, spec: bool) -> String {
        let info = format!(
            r#"{{"ServerVersion":"{version}","CgroupDriver":"{driver}","DefaultRuntime":"{runtime}",
                "CDISpecDirs":["/etc/cdi"]}}"#
        );
        let text = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n";
        let hooks = ["stat /usr/bin/nvidia-cdi-hook", "stat /usr/bin/nvidia-container-runtime-hook"];
        let mut more: Vec<(&str, &str)> = hooks.iter().map(|hook| (*hook, SOCKET)).collect();
        if spec {
            more.extend([("list /etc/cdi", "nvidia.yaml"), ("read /etc/cdi/nvidia.yaml", text)]);
        }
        let mut facts = gpu_host(&engine(&info, &more));
        facts.toolkit.version = Fact::Known(toolkit.into());
        verdict_line(&CHECK, &facts)
    }

    #[test]
    fn legacy_hook_with_systemd_cgroups_is_a_warning() {
        assert!(of("27.5.1", "systemd", "runc", "1.17.8", true).starts_with("warning: "));
        assert!(of("29.7.2", "systemd", "runc", "1.17.8", false).starts_with("warning: "));
        assert_eq!(of("27.5.1", "cgroupfs", "runc", "1.17.8", false), "pass");
        assert_eq!(of("29.7.2", "systemd", "runc", "1.20.0", true), "pass");
        assert_eq!(of("27.5.1", "systemd", "nvidia", "1.18.0", false), "pass");
        assert!(of("27.5.1", "systemd", "nvidia", "1.17.8", false).starts_with("warning: "));
        assert!(of("odd", "systemd", "runc", "1.17.8", true).starts_with("unknown: "));
        assert!(of("27.5.1", "systemd", "nvidia", "odd", false).starts_with("unknown: "));
    }
}
