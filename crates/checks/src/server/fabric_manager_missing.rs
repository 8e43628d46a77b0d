//! There are NVSwitches and no fabric manager.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::{Fact, fabric};

pub(super) const CHECK: Check = Check {
    id: "fabric-manager-missing",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "machines with NVSwitches have the fabric manager",
    explain: include_str!("fabric_manager_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    fabric::runs_here(facts)?;
    if facts.fabric.manager.decided()?.is_some() {
        return Ok(Verdict::Pass);
    }
    match (&facts.fabric.process, fabric::completed(facts)) {
        (Fact::Known(true), _) | (_, Fact::Known(true)) => return Ok(Verdict::Pass),
        (Fact::Unknown(why), _) => return Ok(Verdict::Unknown(why.clone())),
        _ => {}
    }
    let version = facts.driver.module.known().map_or(String::new(), |module| format!(" {}", module.version));
    let message = "the GPUs are connected by NVSwitches but no fabric manager is installed; CUDA programs \
                   fail with error 802 (system not yet initialized)";
    let commands = install(facts);
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = format!(
        "Find and install the fabric manager with exactly the driver's version{version}, then start it:"
    );
    let verdict = Verdict::error(message, Fix::safe(text, &commands))
        .evidence("no nvidia-fabricmanager.service and no nv-fabricmanager process");
    let switches =
        facts.pci.devices.known().into_iter().flatten().filter(|device| device.is_nvswitch()).count();
    Ok(if switches > 0 { verdict.evidence(format!("{switches} NVSwitches on the PCI bus")) } else { verdict })
}

/// The command that finds the package of the driver's version.
fn install(facts: &Facts) -> Vec<String> {
    let branch =
        facts.driver.module.known().map_or("BRANCH".to_owned(), |module| module.version.branch.to_string());
    let debian = facts.system.os.known().is_some_and(|os| {
        ["ubuntu", "debian"].iter().any(|id| os.id == *id || os.id_like.iter().any(|like| like == id))
    });
    let find = if debian {
        format!("apt-cache policy nvidia-fabricmanager-{branch} nvidia-fabricmanager")
    } else {
        "sudo dnf list --showduplicates 'nvidia-fabric*'".to_owned()
    };
    vec![find, "sudo systemctl enable --now nvidia-fabricmanager".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{kind, switched};
    use facts::testing::{pci::device, smi::machine, unknown};

    #[test]
    fn missing_fabric_manager_with_nvswitches_is_an_error() {
        let mut facts = switched("In Progress");
        facts.fabric.manager = Fact::Absent;
        assert_eq!(kind(&CHECK, &facts), "error");
        facts.fabric.process = Fact::Known(true);
        assert_eq!(kind(&CHECK, &facts), "pass");
        facts.fabric.manager = Fact::Known("failed".into());
        assert_eq!(kind(&CHECK, &facts), "pass");
        facts.fabric.manager = Fact::Unknown("denied".into());
        assert_eq!(kind(&CHECK, &facts), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }

    #[test]
    fn b200_host_requires_fabric_manager_but_guests_do_not() {
        let mut facts = machine(&["<fabric><state>In Progress</state></fabric>"]);
        facts.pci.devices = Fact::Known(vec![device("0000:01:00.0", 0x03_02_00, "nvidia")]);
        facts.fabric.manager = Fact::Absent;
        facts.fabric.process = Fact::Known(false);
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            gpus[0].name = "NVIDIA B200".into();
        }
        assert_eq!(kind(&CHECK, &facts), "error");
        facts.system.virtualisation = Fact::Known("kvm".into());
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            gpus[0].name = "NVIDIA GB200".into();
        }
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
    }
}
