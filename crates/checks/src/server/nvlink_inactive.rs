//! NVLinks that should carry traffic are inactive.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "nvlink-inactive",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "NVLinks of GPUs connected by NVSwitches are active",
    explain: include_str!("nvlink_inactive.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let gpus = facts.gpu.list.require("nvidia-smi not found")?;
    let in_fabric = gpus.iter().any(|gpu| matches!(gpu.fabric, Fact::Known(_)));
    let switched = match &facts.pci.devices {
        _ if in_fabric => Fact::Known(true),
        Fact::Known(devices) => Fact::Known(devices.iter().any(Device::is_nvswitch)),
        Fact::Absent => Fact::Known(false),
        Fact::Unknown(why) => Fact::unknown(format!("could not check for NVSwitches: {why}")),
    };
    let most = |name: &str| gpus.iter().filter(|gpu| gpu.name == name).filter_map(active).max().unwrap_or(0);
    let wrong = |gpu: &Gpu| match &gpu.nvlinks {
        // In MIG mode links are off by design, and nvidia-smi does not tell of them.
        _ if gpu.mig.known().is_some_and(|&(on, _)| on) => Fact::Absent,
        Fact::Known(links) if !links.is_empty() && links.iter().all(Option::is_some) => Fact::Known(false),
        Fact::Known(_) if active(gpu) < Some(most(&gpu.name)) => Fact::Known(true),
        // Inactive like those of its peers: a fault behind NVSwitches, a choice elsewhere.
        Fact::Known(_) => switched.clone(),
        Fact::Absent => Fact::Absent,
        Fact::Unknown(why) => Fact::Unknown(why.clone()),
    };
    let found = facts.gpu.found("no GPU has NVLink", wrong)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let fix = Fix::safe(
        "Find the failed link in the kernel log (Xid 74, SXid), then reset all GPUs of the board or reboot \
         to retrain the links:",
        &["sudo dmesg | grep -e 'Xid' | tail -n 30", "nvidia-smi nvlink -s"],
    );
    let dead = found.iter().any(|gpu| active(gpu) == Some(0));
    let effect = if dead {
        "traffic goes over PCIe, which is much slower"
    } else {
        "bandwidth to the other GPUs is lower"
    };
    let message = format!(
        "{} of {} are inactive; {effect}",
        if dead { "all NVLinks" } else { "some NVLinks" },
        names(&found)
    );
    let verdict = if switched == Fact::Known(true) {
        Verdict::error(message, fix).about(Subject::name(names(&found)))
    } else {
        Verdict::warning(message, fix).about(Subject::name(names(&found)))
    };
    let verdict = found.iter().fold(verdict, |verdict, gpu| {
        let links = gpu.nvlinks.known().map_or(0, Vec::len);
        let state = if links == 0 {
            "all links inactive".into()
        } else {
            format!("{} of {links} links active", active(gpu).unwrap_or(0))
        };
        verdict.evidence(format!("{}: {state}", gpu.label()))
    });
    Ok(verdict)
}

/// How many links carry traffic.
fn active(gpu: &Gpu) -> Option<usize> {
    gpu.nvlinks.known().map(|links| links.iter().flatten().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{pci::device, smi::machine, unknown};

    fn linked(links: &[&[Option<f32>]]) -> Facts {
        let mut facts = machine(&vec![""; links.len()]);
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            for (gpu, links) in gpus.iter_mut().zip(links) {
                gpu.nvlinks = Fact::Known(links.to_vec());
            }
        }
        facts
    }

    #[test]
    fn every_link_must_be_active_with_nvswitches() {
        let up = [Some(26.562), Some(26.562)];
        let switches = Fact::Known(vec![device("0000:07:00.0", 0x06_80_00, "nvidia-nvswitch")]);
        for (second, verdict) in [(&up[..], "pass"), (&[Some(26.562), None], "error"), (&[], "error")] {
            let mut facts = linked(&[&up, second]);
            facts.pci.devices = switches.clone();
            assert_eq!(kind(&CHECK, &facts), verdict, "{second:?}");
        }
        let mut facts = linked(&[&up]);
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            gpus[0].nvlinks = Fact::Unknown("cut".into());
        }
        assert_eq!(kind(&CHECK, &facts), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }

    #[test]
    fn unequal_links_are_a_warning_without_nvswitches() {
        let (whole, half): (&[_], &[_]) = (&[Some(25.0), Some(25.0)], &[Some(25.0), None]);
        for (first, second, verdict) in
            [(&[][..], &[][..], "pass"), (half, half, "pass"), (whole, half, "warning")]
        {
            let mut facts = linked(&[first, second]);
            facts.pci.devices = Fact::Known(vec![]);
            assert_eq!(kind(&CHECK, &facts), verdict);
        }
        assert_eq!(kind(&CHECK, &linked(&[half, half])), "unknown", "could not check for NVSwitches");
    }
}
