//! An NVSwitch logged errors since boot.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use std::collections::BTreeMap;

use facts::Fact;
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "nvswitch-errors",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "no NVSwitch logged an error since boot",
    explain: include_str!("nvswitch_errors.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if let Fact::Known(devices) = &facts.pci.devices
        && !devices.iter().any(Device::is_nvswitch)
        && facts.kernel_log.xids.known().is_none_or(|xids| !xids.iter().any(|xid| xid.switch))
    {
        return Ok(Verdict::NotApplicable("no NVSwitch on this machine".into()));
    }
    let xids = facts.kernel_log.xids.require("no kernel log")?;
    let mut counts: BTreeMap<(bool, u32, &str), (usize, &str)> = BTreeMap::new();
    for xid in xids.iter().filter(|xid| xid.switch) {
        // `false` sorts first: fatal ones on top.
        counts.entry((!xid.fatal(), xid.number, xid.address.as_str())).or_insert((0, xid.line.as_str())).0 +=
            1;
    }
    let Some((&(mild, number, address), _)) = counts.first_key_value() else { return Ok(Verdict::Pass) };
    let look = ["sudo dmesg | grep SXid", "nvidia-smi nvlink -s"];
    let verdict = if mild {
        let total: usize = counts.values().map(|(count, _)| count).sum();
        let message = format!(
            "NVSwitches logged {total} non-fatal {} since boot (SXid {number} on {address}); repeated errors \
             on one link mean that it is failing",
            if total == 1 { "error" } else { "errors" }
        );
        Verdict::warning(message, Fix::safe("Watch for repeated errors on the same link:", &look))
            .about(Subject::name(address))
    } else {
        let message = format!(
            "NVSwitch {address} logged a fatal error since boot (SXid {number}); jobs over NVLink fail or \
             hang"
        );
        Verdict::error(
            message,
            Fix::needs_reboot(
                "Stop all jobs, then reset all GPUs and NVSwitches together or reboot (if the error returns, \
                 inspect the board):",
                &look,
            ),
        )
        .about(Subject::name(address))
    };
    let verdict = counts.iter().take(12).fold(verdict, |verdict, ((_, _, address), (count, line))| {
        let times = if *count == 1 { String::new() } else { format!("{count} times on {address}, first: ") };
        verdict.evidence(format!("{times}{line}"))
    });
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::kernel_log::xids;
    use facts::testing::{pci::device, unknown};

    fn logged(log: &str) -> Facts {
        let mut facts = unknown();
        facts.pci.devices = Fact::Known(vec![device("0000:08:00.0", 0x06_80_00, "nvidia-nvswitch")]);
        facts.kernel_log.xids = Fact::Known(xids(log));
        facts
    }

    #[test]
    fn fatal_ones_are_errors() {
        let mild = "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Non-fatal, Link 60 Minion Link DLREQ \
                    interrupt\n";
        let fatal = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 46 sourcetrack timeout \
                     error (First)\n";
        assert_eq!(kind(&CHECK, &logged(mild)), "warning");
        let Ok(Verdict::Found(found)) = judge(&logged(&format!("{mild}{mild}{fatal}"))) else { panic!() };
        let (message, evidence) = (&found.message, &found.evidence);
        assert!(
            message.contains("24007") && evidence[0].contains("Fatal") && evidence[1].starts_with("2 times"),
            "{message}"
        );
        assert_eq!(kind(&CHECK, &logged("NVRM: Xid (PCI:0000:41:00): 79, gone")), "pass");
        let mut none = logged("");
        none.pci.devices = Fact::Known(vec![]);
        assert_eq!(kind(&CHECK, &none), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
