//! A GPU is not registered with the NVLink fabric.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::fabric;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "fabric-not-completed",
    group: Group::Fabric,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "every GPU is registered with its NVLink fabric",
    explain: include_str!("fabric_not_completed.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let wrong =
        |gpu: &Gpu| gpu.fabric.as_ref().map(|(state, status)| state != "Completed" || status != "Success");
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU is part of an NVLink fabric", wrong)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    crate::yield_to(
        &[
            &super::fabric_manager_missing::CHECK,
            &super::fabric_manager_version_mismatch::CHECK,
            &super::fabric_manager_down::CHECK,
        ],
        facts,
    )?;
    let guest = facts.system.virtualisation.known().is_some() && fabric::runs_here(facts).is_err();
    let fix = if guest {
        Fix::manual(
            "Ask the operator of the host: its fabric manager must activate a partition with these GPUs.",
        )
    } else {
        Fix::safe(
            "Check that the fabric manager is running and has the driver's version:",
            &["systemctl status nvidia-fabricmanager --no-pager", "nvidia-smi -q | grep -A 3 Fabric"],
        )
    };
    let verb = if found.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} not registered with the NVLink fabric; CUDA fails there (error 802) or runs without \
         NVLink",
        names(&found)
    );
    let verdict = found.iter().fold(
        Verdict::error(message, fix).about(Subject::name(names(&found))),
        |verdict, gpu| {
            let (state, status) = gpu.fabric.known().cloned().unwrap_or_default();
            verdict.evidence(format!("{}: fabric state {state}, status {status}", gpu.label()))
        },
    );
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn only_completed_with_success_passes() {
        let fabric = |state: &str, status: &str| {
            machine(&[&format!("<fabric><state>{state}</state><status>{status}</status></fabric>")])
        };
        assert_eq!(kind(&CHECK, &fabric("Completed", "Success")), "pass");
        assert_eq!(kind(&CHECK, &fabric("In Progress", "N/A")), "error");
        assert_eq!(kind(&CHECK, &fabric("Not Started", "N/A")), "error");
        assert_eq!(kind(&CHECK, &fabric("Completed", "Insufficient Resources")), "error");
        assert_eq!(kind(&CHECK, &fabric("N/A", "N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &fabric("Unknown Error", "N/A")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
