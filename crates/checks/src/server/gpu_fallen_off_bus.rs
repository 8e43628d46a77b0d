//! A GPU does not answer on PCIe any more.

use crate::nvidia_smi::SmiError;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::Failure;
use facts::kernel_log::{self, Xid};
use facts::{Fact, Role};

pub(super) const CHECK: Check = Check {
    id: "gpu-fallen-off-bus",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no GPU has fallen off the bus since boot",
    explain: include_str!("gpu_fallen_off_bus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let mut evidence = Vec::new();
    let lost = match &facts.gpu.failure {
        Some(Failure::Ended { said, .. }) => SmiError::of(said) == SmiError::GpuLost,
        _ => false,
    };
    if let (true, Some(Failure::Ended { said, .. })) = (lost, &facts.gpu.failure) {
        evidence.push(format!("nvidia-smi: {said}"));
    }
    let in_log =
        facts.kernel_log.xids.known().into_iter().flatten().filter(|xid| xid.number == 79 && !xid.switch);
    let in_log: Vec<_> = in_log.collect();
    evidence.extend(in_log.iter().take(4).map(|xid| format!("kernel: {}", xid.line)));
    let errors = facts.kernel_log.driver_errors.known().into_iter().flatten();
    evidence.extend(
        errors
            .filter(|line| kernel_log::is_off_bus(line))
            .take(4)
            .map(|line| format!("kernel: NVRM: {line}")),
    );
    if !evidence.is_empty() {
        return Ok(finding(facts, lost, &in_log, evidence));
    }
    match (&facts.gpu.list, &facts.kernel_log.xids) {
        (_, Fact::Known(_)) => Ok(Verdict::Pass),
        // A container does not see the kernel's log; that all its GPUs answer is what it can know.
        (Fact::Known(_), _) if matches!(facts.role(), Fact::Known(Role::Container)) => Ok(Verdict::Pass),
        (_, Fact::Unknown(why)) => Ok(Verdict::Unknown(format!("kernel log: {why}").into())),
        (_, Fact::Absent) => Ok(Verdict::Unknown("no kernel log".into())),
    }
}

fn finding(facts: &Facts, lost: bool, in_log: &[&Xid], mut evidence: Vec<String>) -> Verdict {
    let back = |xid: &&&Xid| {
        facts
            .gpu
            .list
            .known()
            .is_some_and(|gpus| gpus.iter().any(|gpu| gpu.address.starts_with(&xid.address)))
    };
    let returned = !lost && !in_log.is_empty() && in_log.iter().all(|xid| back(&xid));
    let fix = Fix::needs_reboot(
        "Reboot; if the GPU stays missing, power-cycle the machine, and if it happens again, check power, \
         cooling, seating and the board:",
        &["sudo reboot"],
    );
    let verdict = if returned {
        Verdict::warning(
            "a GPU fell off the PCIe bus since boot; it responds again, but the fault may return",
            fix,
        )
    } else {
        Verdict::error(
            "a GPU has fallen off the PCIe bus; it does not respond until the machine is rebooted or \
             power-cycled",
            fix,
        )
    };
    let silent = facts.pci.gpus().filter(|gpu| gpu.answers == Fact::Known(false));
    evidence.extend(silent.map(|gpu| format!("{}: configuration space reads ff", gpu.address)));
    evidence.into_iter().fold(verdict, Verdict::evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::kernel_log::xids;
    use facts::testing::{
        smi::{machine, said},
        unknown,
    };
    use host::Reading;

    #[test]
    fn a_lost_gpu_is_found_in_the_log_and_in_nvidia_smi() {
        let lost = said(Reading::Ran {
            status: Some(15),
            stdout: "Unable to determine the device handle for GPU0: 0000:24:00.0: GPU is lost.  Reboot the \
                     system to recover this GPU"
                .into(),
            stderr: String::new(),
        });
        assert_eq!(kind(&CHECK, &lost), "error");
        let mut logged = unknown();
        logged.kernel_log.xids =
            Fact::Known(xids("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."));
        assert_eq!(kind(&CHECK, &logged), "error");
        let mut back = machine(&["", ""]);
        back.kernel_log.xids =
            Fact::Known(xids("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."));
        assert_eq!(kind(&CHECK, &back), "warning");
        let mut healthy = machine(&[""]);
        assert_eq!(kind(&CHECK, &healthy), "unknown");
        healthy.kernel_log.xids = Fact::Known(vec![]);
        assert_eq!(kind(&CHECK, &healthy), "pass");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
