//! A data-center GPU runs without ECC.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, model, names};

pub(super) const CHECK: Check = Check {
    id: "ecc-disabled",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "data-center GPUs run with ECC",
    explain: include_str!("ecc_disabled.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let without = |gpu: &Gpu| match model(facts.catalog, gpu) {
        Some(model) if model.data_centre => gpu.ecc.as_ref().map(|&(now, next)| !now || !next),
        _ => Fact::Absent,
    };
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no data-center GPU with ECC", without)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let commands: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi -i {} -e 1", gpu.index)).collect();
    let mut commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    commands.push("sudo reboot");
    let off = found.iter().any(|gpu| gpu.ecc.known().is_some_and(|(now, _)| !now));
    let is = if off { "is off on" } else { "will be off after the next boot on" };
    let message = format!("ECC {is} {}; memory errors corrupt results silently", names(&found));
    let verdict = Verdict::warning(message, Fix::needs_reboot("Turn ECC on, then reboot:", &commands))
        .about(Subject::name(names(&found)));
    let state = |on: bool| if on { "on" } else { "off" };
    let verdict = found.iter().fold(verdict, |verdict, gpu| {
        let (now, next) = gpu.ecc.known().copied().unwrap_or_default();
        verdict.evidence(format!(
            "{}: ECC {} now, {} after the next boot",
            gpu.label(),
            state(now),
            state(next)
        ))
    });
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn reports_disabled_ecc_only_on_data_center_gpus() {
        let ecc = |now: &str, next: &str| {
            machine(&[&format!(
                "<ecc_mode><current_ecc>{now}</current_ecc><pending_ecc>{next}</pending_ecc></ecc_mode>"
            )])
        };
        assert_eq!(kind(&CHECK, &ecc("Enabled", "Enabled")), "pass");
        assert_eq!(kind(&CHECK, &ecc("Disabled", "Disabled")), "warning");
        assert_eq!(kind(&CHECK, &ecc("Enabled", "Disabled")), "warning");
        assert_eq!(kind(&CHECK, &ecc("Unknown Error", "Disabled")), "unknown");
        let mut gaming = ecc("Disabled", "Disabled");
        if let Fact::Known(gpus) = &mut gaming.gpu.list {
            gpus[0].name = "NVIDIA RTX A5000".into();
        }
        assert_eq!(kind(&CHECK, &gaming), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
