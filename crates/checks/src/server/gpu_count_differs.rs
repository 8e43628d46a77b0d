//! The driver has fewer GPUs than the machine, or than expected.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::Gpu;
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "gpu-count-differs",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the driver lists every GPU on the PCI bus, and as many as expected",
    explain: include_str!("gpu_count_differs.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let listed = facts.gpu.list.require("nvidia-smi not found")?;
    let fix = || {
        Fix::safe(
            "Find out in the kernel log why a GPU is missing:",
            &["sudo dmesg | grep NVRM | tail -n 50", "lspci -d 10de:"],
        )
    };
    // A container sees all devices of its machine on the bus, whatever it was given.
    let in_container =
        *facts.inside_container().require("could not determine whether this is a container")?;
    let nodes = || facts.driver.device_nodes.known().map(|nodes| nodes.gpus.len());
    let there =
        if in_container { nodes() } else { facts.pci.devices.known().map(|_| facts.pci.gpus().count()) };
    if let Some(expected) = facts.expected.gpus
        && listed.len() != expected as usize
        // Else the machine itself has another number: gpu-missing-from-bus says so.
        && there.is_none_or(|there| there == expected as usize)
    {
        let message = format!("the driver lists {}, but {expected} were expected", count(listed.len()));
        return Ok(listed
            .iter()
            .fold(Verdict::error(message, fix()), |verdict, gpu| verdict.evidence(gpu.label())));
    }
    if in_container {
        return match facts.expected.gpus {
            Some(_) => Ok(Verdict::Pass),
            None => Ok(Verdict::NotApplicable(
                "a container has only the GPUs assigned to it; see --expect gpus=N".into(),
            )),
        };
    }
    if let Fact::Known(attached) = facts.gpu.attached
        && attached as usize > listed.len()
    {
        let message = format!("nvidia-smi reports {attached} attached GPUs but lists {}", listed.len());
        return Ok(Verdict::error(message, fix()));
    }
    // On WSL2 and other systems without a PCI bus of their own there is nothing to compare with.
    let devices = facts.pci.devices.require("no PCI bus to compare with")?;
    let missing: Vec<_> = devices
        .iter()
        .filter(|device| belongs_to_driver(device) && !is_listed(listed, &device.address))
        .collect();
    if missing.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message =
        format!("the driver lists {}, but the PCI bus has {} more", count(listed.len()), missing.len());
    let verdict = missing.iter().fold(Verdict::error(message, fix()), |verdict, device| {
        verdict.evidence(format!(
            "{} (10de:{:04x}) on the bus, bound to nvidia, not in nvidia-smi",
            device.address, device.device
        ))
    });
    Ok(verdict)
}

/// Whether the driver has taken the device; `gpu-without-driver` tells of the others.
fn belongs_to_driver(device: &Device) -> bool {
    device.is_gpu()
        && !device.virtual_function
        && device.driver.known().is_some_and(|driver| driver == "nvidia")
}

fn is_listed(gpus: &[Gpu], address: &str) -> bool {
    gpus.iter().any(|gpu| gpu.address.eq_ignore_ascii_case(address))
}

fn count(gpus: usize) -> String {
    if gpus == 1 { "1 GPU".into() } else { format!("{gpus} GPUs") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    fn device(address: &str, driver: &str) -> Device {
        facts::testing::pci::device(address, 0x03_02_00, driver)
    }

    #[test]
    fn counts_are_compared() {
        let mut facts = machine(&["", ""]);
        assert_eq!(kind(&CHECK, &facts), "unknown");
        facts.pci.devices =
            Fact::Known(vec![device("0000:00:00.0", "nvidia"), device("0000:01:00.0", "nvidia")]);
        assert_eq!(kind(&CHECK, &facts), "pass");
        facts.expected.gpus = Some(8);
        assert_eq!(kind(&CHECK, &facts), "pass", "gpu-missing-from-bus tells of this");
        facts.pci.devices = Fact::Unknown("not shown".into());
        assert_eq!(kind(&CHECK, &facts), "error");
        facts.expected.gpus = None;
        facts.pci.devices = Fact::Known(vec![
            device("0000:00:00.0", "nvidia"),
            device("0000:01:00.0", "nvidia"),
            device("0000:02:00.0", "vfio-pci"),
        ]);
        assert_eq!(kind(&CHECK, &facts), "pass");
        facts.pci.devices = Fact::Known(vec![device("0000:02:00.0", "nvidia")]);
        assert_eq!(kind(&CHECK, &facts), "error");
        facts.system.container = Fact::Unknown("not seen".into());
        assert_eq!(kind(&CHECK, &facts), "unknown", "a container sees every GPU on the bus");
        facts.system.container = Fact::Known("docker".into());
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        facts.expected.gpus = Some(2);
        assert_eq!(kind(&CHECK, &facts), "pass");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
