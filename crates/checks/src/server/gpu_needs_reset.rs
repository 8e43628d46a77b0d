//! The driver asks for a reset of a GPU or for a boot.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "gpu-needs-reset",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no GPU needs a reset or a reboot",
    explain: include_str!("gpu_needs_reset.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let asks = |gpu: &Gpu| gpu.recovery_action.as_ref().map(|action| action != "None");
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("this driver does not report whether a GPU needs a reset", asks)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let action = |gpu: &Gpu| gpu.recovery_action.known().cloned().unwrap_or_default();
    let reboot = found.iter().any(|gpu| action(gpu).to_ascii_lowercase().contains("reboot"));
    let resets: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let resets: Vec<&str> = resets.iter().map(String::as_str).collect();
    let fix = if reboot {
        Fix::needs_reboot("Reboot, as the driver requests:", &["sudo reboot"])
    } else {
        Fix::restarts_service("Stop every program on the GPU, then reset it:", &resets)
    };
    let verb = if found.len() == 1 { "needs" } else { "need" };
    let message = format!("{} {verb} recovery and may refuse work until then", names(&found));
    let verdict = found
        .iter()
        .fold(Verdict::error(message, fix).about(Subject::name(names(&found))), |verdict, gpu| {
            verdict.evidence(format!("{}: recovery action {:?}", gpu.label(), action(gpu)))
        });
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn every_recovery_action_except_none_is_reported() {
        let asks = |action: &str| {
            machine(&[
                "<gpu_recovery_action>None</gpu_recovery_action>",
                &format!("<gpu_recovery_action>{action}</gpu_recovery_action>"),
            ])
        };
        assert_eq!(kind(&CHECK, &asks("None")), "pass");
        for action in ["Reset", "Drain P2P", "Drain and Reset"] {
            assert_eq!(kind(&CHECK, &asks(action)), "error", "{action}");
        }
        let Ok(Verdict::Found(found)) = judge(&asks("Reboot")) else { panic!() };
        let (fix, message) = (&found.fixes[0], &found.message);
        assert_eq!((fix.class, message.starts_with("GPU 1 needs")), (crate::FixClass::NeedsReboot, true));
        assert_eq!(kind(&CHECK, &asks("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &machine(&[""])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
