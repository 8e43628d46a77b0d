//! Fewer GPUs than the user said.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "gpu-missing-from-bus",
    group: Group::Pci,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the machine has as many GPUs as expected",
    explain: include_str!("gpu_missing_from_bus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let Some(expected) = facts.expected.gpus else {
        return Ok(Verdict::NotApplicable("no number of GPUs was expected (--expect gpus=N)".into()));
    };
    let in_container = match facts.role() {
        Fact::Known(role) => role == Role::Container,
        Fact::Unknown(why) => return Err(Verdict::Unknown(why)),
        Fact::Absent => false,
    };
    if in_container
        && matches!((super::nvidia_visible_devices_void::CHECK.judge)(facts), Ok(Verdict::Found(_)))
    {
        return Err(Verdict::NotApplicable("see nvidia-visible-devices-void".into()));
    }
    let (found, location) = if facts.system.wsl.decided()?.is_some() {
        (facts.gpu.list.decided()?.map_or(0, Vec::len), "WSL2")
    } else if in_container {
        (facts.driver.device_nodes.decided()?.map_or(0, |nodes| nodes.gpus.len()), "this container")
    } else {
        facts.pci.devices.decided()?;
        (facts.pci.gpus().count(), "the PCI bus")
    };
    if found == expected as usize {
        return Ok(Verdict::Pass);
    }
    let message = format!("{location} has {}, but {expected} were expected", count(found));
    if found > expected as usize {
        return Ok(Verdict::warning(
            message,
            Fix::manual("Correct --expect gpus, or find out why there are more."),
        ));
    }
    let fix = if in_container {
        Fix::restarts_service("Restart the container with GPUs:", &["docker run --gpus all …"])
    } else if location == "WSL2" {
        Fix::safe("Check the driver on Windows:", &["nvidia-smi"])
    } else {
        Fix::needs_reboot(
            "Check the management controller's log, power-cycle the machine, then reseat the board (in a VM: \
             request the right instance type):",
            &["lspci -nn -d 10de:", "sudo dmesg | grep -i -E 'pcie|nvrm'"],
        )
    };
    let verdict = Verdict::error(message, fix);
    Ok(facts.pci.gpus().fold(verdict, |verdict, gpu| {
        verdict.evidence(format!("{} {}", gpu.address, crate::gpu::name(facts, gpu)))
    }))
}

fn count(found: usize) -> String {
    match found {
        0 => "no NVIDIA GPU".into(),
        1 => "1 NVIDIA GPU".into(),
        more => format!("{more} NVIDIA GPUs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    fn expecting(gpus: u32, change: impl FnOnce(&mut Facts)) -> Facts {
        server(|f| {
            f.expected.gpus = Some(gpus);
            change(f);
        })
    }

    #[test]
    fn gpu_count_is_compared_with_the_expectation() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "--expect");
        expect(&CHECK, &expecting(1, |_| {}), "pass", "");
        expect(&CHECK, &expecting(8, |_| {}), "error", "has 1 NVIDIA GPU, but 8 were expected");
        expect(&CHECK, &expecting(0, |_| {}), "warning", "has 1");
        expect(&CHECK, &expecting(1, |f| f.pci.devices = Fact::Known(vec![])), "error", "no NVIDIA GPU");
        expect(&CHECK, &expecting(1, |f| f.pci.devices = Fact::Unknown("x".into())), "unknown", "x");
        let container = |f: &mut Facts| f.system.container = Fact::Known("docker".into());
        expect(&CHECK, &expecting(2, container), "error", "this container has 1");
    }
}
