//! The driver asks for a reset of a GPU or for a boot.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

pub const CHECK: Check = Check {
    id: "gpu-needs-reset",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no GPU waits for a reset or a boot",
    explain: include_str!("gpu_needs_reset.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let asks = |gpu: &Gpu| gpu.recovery_action.as_ref().map(|action| action != "None");
    let found = facts.gpu.found("this driver does not say whether a GPU needs a reset", asks)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let action = |gpu: &Gpu| gpu.recovery_action.known().cloned().unwrap_or_default();
    let reboot = found.iter().any(|gpu| action(gpu).to_ascii_lowercase().contains("reboot"));
    let resets: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let resets: Vec<&str> = resets.iter().map(String::as_str).collect();
    let fix = if reboot {
        Fix::needs_reboot("The driver asks for a boot.", &["sudo reboot"])
    } else {
        Fix::restarts_service("End every program on the GPU first; a GPU in use cannot be reset.", &resets)
    };
    let verb = if found.len() == 1 { "waits" } else { "wait" };
    let says = format!("{} {verb} for recovery and may refuse work until then", names(&found));
    let verdict = found.iter().fold(Verdict::error(says, fix), |verdict, gpu| {
        verdict.evidence(format!("{}: the driver asks for {:?}", gpu.label(), action(gpu)))
    });
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn every_action_but_none_is_a_finding() {
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
        let (fix, says) = (&found.fixes[0], &found.message);
        assert_eq!((fix.class, says.starts_with("GPU 1 waits")), (crate::FixClass::NeedsReboot, true));
        assert_eq!(kind(&CHECK, &asks("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &machine(&[""])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
