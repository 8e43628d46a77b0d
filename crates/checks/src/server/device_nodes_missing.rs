//! The driver is loaded and its device nodes are not there.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::driver::DeviceNodes;
use facts::{Fact, Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "device-nodes-missing",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the driver's device nodes exist in /dev",
    explain: include_str!("device_nodes_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.wsl.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("WSL2 uses /dev/dxg instead".into()));
    }
    let nodes = facts.driver.device_nodes.decided()?;
    if matches!(facts.role(), Fact::Known(Role::Container)) {
        if matches!((super::nvidia_visible_devices_void::CHECK.judge)(facts), Ok(Verdict::Found(_))) {
            return Err(Verdict::NotApplicable("see nvidia-visible-devices-void".into()));
        }
        return Ok(in_container(facts, nodes));
    }
    facts.driver.module.require("the driver is not loaded")?;
    let none = DeviceNodes::default();
    let nodes = nodes.unwrap_or(&none);
    let gpus = facts.driver.proc_gpus.require("the driver has no GPU")?.len();
    // nvidia-smi, which may have run after the nodes were looked at, makes those that it needs.
    let answered = facts.gpu.list.known().is_some_and(|listed| !listed.is_empty() && listed.len() >= gpus);
    let mut missing = Vec::new();
    if !nodes.control && !answered {
        missing.push("/dev/nvidiactl".to_owned());
    }
    if nodes.gpus.len() < gpus && !answered {
        missing.push(format!("/dev/nvidiaN for {} of {gpus} GPUs", gpus - nodes.gpus.len()));
    }
    let loaded = facts.modules.loaded.decided()?;
    let uvm = loaded.is_some_and(|loaded| loaded.iter().any(|name| name == "nvidia_uvm"));
    // The first CUDA program has nvidia-modprobe make this one.
    if uvm && !nodes.uvm && facts.driver.modprobe.decided()? != Some(&true) {
        missing.push("/dev/nvidia-uvm".to_owned());
    }
    if missing.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message =
        format!("the driver is loaded but {} is missing; programs cannot reach the GPU", missing.join(", "));
    Ok(Verdict::error(message, create(nodes, gpus, uvm)).evidence(shown(nodes, gpus)))
}

fn create(nodes: &DeviceNodes, gpus: usize, uvm: bool) -> Fix {
    let mut commands = Vec::new();
    if !nodes.control || nodes.gpus.len() < gpus {
        // Minor 255 is /dev/nvidiactl; with -u the numbers mean those of /dev/nvidia-uvm.
        let minors: String = (0..gpus).map(|minor| format!(" -c {minor}")).collect();
        commands.push(format!("sudo nvidia-modprobe -c 255{minors}"));
    }
    if uvm && !nodes.uvm {
        commands.push("sudo nvidia-modprobe -u -c 0".to_owned());
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    Fix::safe(
        "Create the device nodes (nvidia-persistenced creates those of the GPUs at each boot):",
        &commands,
    )
}

fn shown(nodes: &DeviceNodes, gpus: usize) -> String {
    if nodes.gpus.is_empty() && !nodes.control {
        "no /dev/nvidiaN and no /dev/nvidiactl".to_owned()
    } else {
        format!(
            "/dev/nvidiaN: {} of {gpus}; nvidiactl: {}; nvidia-uvm: {}",
            nodes.gpus.len(),
            nodes.control,
            nodes.uvm
        )
    }
}

fn in_container(facts: &Facts, nodes: Option<&DeviceNodes>) -> Verdict {
    let expected = facts.expected.gpus.is_some_and(|count| count > 0);
    let finding = |message: String, fix: Fix| match expected {
        true => Verdict::error(message, fix),
        false => Verdict::warning(message, fix),
    };
    let again = || Fix::restarts_service("Restart the container with GPUs:", &["docker run --gpus all …"]);
    match nodes {
        None => {
            finding("this container was started without GPUs: it has no /dev/nvidia* device".into(), again())
        }
        Some(nodes) if nodes.gpus.is_empty() => {
            finding("this container has no GPU: /dev/nvidiaN is missing".into(), again())
        }
        Some(nodes) if !nodes.control || !nodes.uvm => {
            let name = if nodes.control { "/dev/nvidia-uvm" } else { "/dev/nvidiactl" };
            let message = format!("this container has GPUs but no {name}; CUDA cannot start without it");
            let text = "Check that the host has the device, then start the container with --gpus:";
            Verdict::error(message, Fix::restarts_service(text, &["docker run --gpus all …"]))
        }
        Some(_) => Verdict::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    fn nodes(facts: &mut Facts, change: impl FnOnce(&mut DeviceNodes)) {
        if let Fact::Known(nodes) = &mut facts.driver.device_nodes {
            change(nodes);
        }
    }

    fn commands(change: impl FnOnce(&mut DeviceNodes)) -> Vec<String> {
        match crate::judge_one(&CHECK, &server(|f| nodes(f, change))) {
            Verdict::Found(found) => found.fixes[0].commands.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn on_the_host_the_driver_needs_its_nodes() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        expect(&CHECK, &server(|f| f.driver.device_nodes = Fact::Absent), "error", "/dev/nvidiactl");
        expect(&CHECK, &server(|f| nodes(f, |n| n.uvm = false)), "error", "/dev/nvidia-uvm");
        expect(&CHECK, &server(|f| nodes(f, |n| n.gpus.clear())), "error", "1 of 1 GPUs");
        assert_eq!(commands(|n| n.gpus.clear()), ["sudo nvidia-modprobe -c 255 -c 0"]);
        assert_eq!(commands(|n| n.uvm = false), ["sudo nvidia-modprobe -u -c 0"]);
        expect(&CHECK, &server(|f| f.driver.device_nodes = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|f| f.driver.module = Fact::Absent), "not-applicable", "not loaded");
    }

    #[test]
    fn a_container_without_them_was_started_without_gpus() {
        let container = |change: fn(&mut Facts)| {
            server(|f| {
                f.system.container = Fact::Known("docker".into());
                change(f);
            })
        };
        expect(&CHECK, &container(|_| {}), "pass", "");
        expect(&CHECK, &container(|f| f.driver.device_nodes = Fact::Absent), "warning", "without GPUs");
        let wanted = container(|f| {
            f.driver.device_nodes = Fact::Absent;
            f.expected.gpus = Some(1);
        });
        expect(&CHECK, &wanted, "error", "without GPUs");
        expect(&CHECK, &container(|f| nodes(f, |n| n.uvm = false)), "error", "no /dev/nvidia-uvm");
    }
}
