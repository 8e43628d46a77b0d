//! The driver lets go of idle GPUs.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};

pub(super) const CHECK: Check = Check {
    id: "persistence-mode-off",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the driver keeps idle GPUs initialized",
    explain: include_str!("persistence_mode_off.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.wsl.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("the Windows driver controls the GPU".into()));
    }
    let off = |gpu: &Gpu| match gpu.virtualization.known().map(String::as_str) {
        Some("VGPU") => Fact::Absent,
        // The display server keeps the GPU open; a laptop's sleeps to save power.
        _ if gpu.display == Fact::Known(true) || gpu.name.contains("Laptop GPU") => Fact::Absent,
        _ => gpu.persistence.as_ref().map(|on| !on),
    };
    super::nvidia_smi_fails::answered(facts)?;
    let found = facts.gpu.found("no GPU supports persistence mode", off)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "persistence mode is off on {}; every program waits at startup while the driver initializes the GPU",
        names(&found)
    );
    let fix = Fix::safe(
        "Turn persistence mode on now and at each boot (if the unit of nvidia-persistenced has \
         --no-persistence-mode, remove that option):",
        &["sudo nvidia-smi -pm 1", "sudo systemctl enable --now nvidia-persistenced"],
    );
    let verdict = Verdict::warning(message, fix).about(Subject::name(names(&found)));
    Ok(found
        .iter()
        .fold(verdict, |verdict, gpu| verdict.evidence(format!("{}: persistence mode off", gpu.label()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn disabled_persistence_mode_is_a_warning_except_on_vgpu() {
        let mode = |mode: &str| machine(&[&format!("<persistence_mode>{mode}</persistence_mode>")]);
        assert_eq!(kind(&CHECK, &mode("Disabled")), "warning");
        assert_eq!(kind(&CHECK, &mode("Enabled")), "pass");
        assert_eq!(kind(&CHECK, &mode("N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &mode("Unknown Error")), "unknown");
        let vgpu = "<persistence_mode>Disabled</persistence_mode><gpu_virtualization_mode>\
                    <virtualization_mode>VGPU</virtualization_mode></gpu_virtualization_mode>";
        assert_eq!(kind(&CHECK, &machine(&[vgpu])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
