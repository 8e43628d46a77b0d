//! GPUs are split by MIG, which cuts their NVLinks.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "mig-mode-on",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "MIG is on for all GPUs or for none",
    explain: include_str!("mig_mode_on.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU supports MIG", |gpu| gpu.mig.as_ref().map(|&(now, _)| now))?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    if facts.gpu.list.known().is_some_and(|gpus| gpus.len() == 1) {
        return Err(Verdict::NotApplicable("only one GPU: there is no NVLink peer".into()));
    }
    // Where all are split that can be, somebody wanted it so.
    let whole = |gpu: &&Gpu| gpu.mig.known().is_some_and(|&(now, _)| !now);
    if !facts.gpu.list.known().is_some_and(|gpus| gpus.iter().any(|gpu| whole(&gpu))) {
        return Err(Verdict::NotApplicable("MIG is on for all GPUs".into()));
    }
    let mut commands = Vec::new();
    for gpu in &found {
        let index = gpu.index;
        commands.push(format!("sudo nvidia-smi mig -i {index} -dci; sudo nvidia-smi mig -i {index} -dgi"));
        commands.push(format!("sudo nvidia-smi -i {index} -mig 0"));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let message = format!(
        "MIG is on for {} but off for the others; MIG instances have no NVLink, so a job over all GPUs is \
         slow or fails",
        names(&found)
    );
    let text = "For multi-GPU jobs: stop all jobs, remove the MIG instances and turn MIG off:";
    let verdict =
        Verdict::warning(message, Fix::restarts_service(text, &commands)).about(Subject::name(names(&found)));
    Ok(found.iter().fold(verdict, |verdict, gpu| verdict.evidence(format!("{}: MIG enabled", gpu.label()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn mig_on_only_some_gpus_is_a_warning() {
        let mig = |now: &str| {
            let gpu = format!(
                "<mig_mode><current_mig>{now}</current_mig><pending_mig>{now}</pending_mig></mig_mode>"
            );
            let off =
                "<mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>";
            if now == "some" {
                let on = gpu.replace("some", "Enabled");
                return machine(&[off, &on]);
            }
            machine(&[&gpu, &gpu])
        };
        assert_eq!(kind(&CHECK, &mig("some")), "warning");
        assert_eq!(kind(&CHECK, &mig("Enabled")), "not-applicable");
        assert_eq!(kind(&CHECK, &mig("Disabled")), "pass");
        assert_eq!(kind(&CHECK, &mig("N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &mig("ERR!")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
