//! MIG mode changes at the next reset.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::names;

pub(super) const CHECK: Check = Check {
    id: "mig-change-pending",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no MIG mode change is pending",
    explain: include_str!("mig_change_pending.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let found =
        facts.gpu.found("no GPU supports MIG", |gpu| gpu.mig.as_ref().map(|(now, next)| now != next))?;
    let Some(first) = found.first() else { return Ok(Verdict::Pass) };
    let on = first.mig == Fact::Known((true, false));
    let commands: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi --gpu-reset -i {}", gpu.index)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (now, next) = if on { ("on", "off") } else { ("off", "on") };
    let message = format!("MIG is {now} on {} but will be {next} after the next reset", names(&found));
    let verdict =
        Verdict::warning(message, Fix::restarts_service("Reset the GPU while nothing uses it:", &commands))
            .about(Subject::name(names(&found)));
    Ok(found.iter().fold(verdict, |verdict, gpu| verdict.evidence(gpu.label())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn a_pending_change_is_a_warning() {
        let mig = |now: &str, next: &str| {
            machine(&[&format!(
                "<mig_mode><current_mig>{now}</current_mig><pending_mig>{next}</pending_mig></mig_mode>"
            )])
        };
        assert_eq!(kind(&CHECK, &mig("Disabled", "Enabled")), "warning");
        assert_eq!(kind(&CHECK, &mig("Enabled", "Enabled")), "pass");
        assert_eq!(kind(&CHECK, &mig("N/A", "N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &mig("ERR!", "N/A")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
