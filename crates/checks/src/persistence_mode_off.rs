//! The driver lets go of idle GPUs.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;
use facts::gpu::{Gpu, names};

/// The check.
pub const CHECK: Check = Check {
    id: "persistence-mode-off",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the driver keeps idle GPUs initialised",
    explain: "\
## What it checks
Persistence mode of each GPU. WSL2 and vGPU guests do not have it. GPUs that drive a screen (the
display server keeps them open) and those of laptops are left out.

## Why it matters
When the last program closes a GPU the driver tears its state down and builds it up again for the next:
seconds for each start, on eight GPUs more, in which health checks and container starts time out. Counters
of errors since the driver's start and clock settings are lost each time.

## How to fix it
Run NVIDIA's persistence daemon, which the driver brings; `nvidia-smi -pm 1` does the same until the next
boot.

## Sources
- https://docs.nvidia.com/deploy/driver-persistence/background.html
- https://docs.nvidia.com/deploy/driver-persistence/persistence-daemon.html
- tests/servers/outputs/services/systemctl-nvidia-persistenced-no-persistence-mode.txt
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.wsl.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("the driver belongs to Windows".into()));
    }
    let off = |gpu: &Gpu| match gpu.virtualization.known().map(String::as_str) {
        Some("VGPU") => Fact::Absent,
        // The display server keeps the GPU open; a laptop's sleeps to save power.
        _ if gpu.display == Fact::Known(true) || gpu.name.contains("Laptop GPU") => Fact::Absent,
        _ => gpu.persistence.as_ref().map(|on| !on),
    };
    let found = facts.gpu.found("no GPU here has persistence mode", off)?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "persistence mode is off on {}: each start of a program waits while the driver wakes the GPU",
        names(&found)
    );
    let fix = Fix::safe(
        "The first command lasts until the next boot, the daemon does it at each boot (some packages start it with \
         --no-persistence-mode: then take that option out of its unit).",
        &["sudo nvidia-smi -pm 1", "sudo systemctl enable --now nvidia-persistenced"],
    );
    let verdict = Verdict::warning(says, fix);
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
    fn it_is_a_warning_on_a_linux_driver_only() {
        let mode = |mode: &str| machine(&[&format!("<persistence_mode>{mode}</persistence_mode>")]);
        assert_eq!(kind(&CHECK, &mode("Disabled")), "warning");
        assert_eq!(kind(&CHECK, &mode("Enabled")), "pass");
        assert_eq!(kind(&CHECK, &mode("N/A")), "not-applicable");
        assert_eq!(kind(&CHECK, &mode("Unknown Error")), "unknown");
        let vgpu = "<persistence_mode>Disabled</persistence_mode><gpu_virtualization_mode><virtualization_mode>VGPU\
                    </virtualization_mode></gpu_virtualization_mode>";
        assert_eq!(kind(&CHECK, &machine(&[vgpu])), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
