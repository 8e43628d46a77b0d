//! The GPUs of this machine are of different models.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::gpu::Gpu;
use facts::{Fact, Facts};
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    id: "mixed-gpu-models",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "all GPUs are the same model",
    explain: include_str!("mixed_gpu_models.md"),
    judge,
};

/// A separate board for the screen, next to those for computing.
fn for_a_screen(gpu: &Gpu) -> bool {
    gpu.name.contains("DGX Display") || gpu.display == Fact::Known(true)
}

fn judge(facts: &Facts) -> Judged {
    super::nvidia_smi_fails::answered(facts)?;
    let gpus = facts.gpu.list.require("nvidia-smi not found")?;
    let compute: Vec<_> = gpus.iter().filter(|gpu| !for_a_screen(gpu)).collect();
    if compute.len() < 2 {
        return Ok(Verdict::NotApplicable("only one compute GPU".into()));
    }
    if compute.iter().any(|gpu| gpu.name.is_empty()) {
        return Ok(Verdict::Unknown("nvidia-smi does not report the name of every GPU".into()));
    }
    let names: BTreeSet<&str> = compute.iter().map(|gpu| gpu.name.as_str()).collect();
    if names.len() == 1 {
        return Ok(Verdict::Pass);
    }
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    let message =
        format!("the GPUs are different models ({list}); a job over all of them is limited by the weakest");
    let fix = Fix::safe(
        "Select GPUs of one model by UUID, and number GPUs as nvidia-smi does:",
        &["nvidia-smi -L", "export CUDA_DEVICE_ORDER=PCI_BUS_ID"],
    );
    Ok(compute.iter().fold(Verdict::warning(message, fix), |verdict, gpu| verdict.evidence(gpu.label())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    use facts::Fact;

    #[test]
    fn different_names_are_a_warning() {
        let mut facts = machine(&["", ""]);
        assert_eq!(kind(&CHECK, &facts), "pass");
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            gpus[1].name = "NVIDIA A100-SXM4-80GB".into();
        }
        assert_eq!(kind(&CHECK, &facts), "warning");
        if let Fact::Known(gpus) = &mut facts.gpu.list {
            gpus[1].name = "NVIDIA DGX Display".into();
        }
        assert_eq!(kind(&CHECK, &facts), "not-applicable");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
