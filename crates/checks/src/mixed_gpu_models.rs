//! The GPUs of this machine are of different models.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::gpu::Gpu;
use facts::{Fact, Facts};
use std::collections::BTreeSet;

/// The check.
pub const CHECK: Check = Check {
    id: "mixed-gpu-models",
    group: Group::Gpu,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "all GPUs are of one model",
    explain: "\
## What it checks
Whether all GPUs that the driver lists have one name. Boards that drive a screen (`DGX Display`,
display active) do not count.

## Why it matters
A job over all GPUs runs at the speed and with the memory of the weakest, and must be built for each
architecture. CUDA numbers the fastest first, `nvidia-smi` by PCI address: index 0 need not be the same GPU.

## How to fix it
Choose GPUs of one model for a job by UUID (`CUDA_VISIBLE_DEVICES=GPU-…`), or set
`CUDA_DEVICE_ORDER=PCI_BUS_ID` so that the numbers agree with those of `nvidia-smi`.

## Sources
- https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
",
    judge,
};

/// A board of its own for the screen, beside those for computing.
fn for_a_screen(gpu: &Gpu) -> bool {
    gpu.name.contains("DGX Display") || gpu.display == Fact::Known(true)
}

fn judge(facts: &Facts) -> Judged {
    let gpus = facts.gpu.list.require("there is no nvidia-smi to ask")?;
    let compute: Vec<_> = gpus.iter().filter(|gpu| !for_a_screen(gpu)).collect();
    if compute.len() < 2 {
        return Ok(Verdict::NotApplicable("there is one GPU for computing".into()));
    }
    if compute.iter().any(|gpu| gpu.name.is_empty()) {
        return Ok(Verdict::Unknown("nvidia-smi does not tell the name of every GPU".into()));
    }
    let names: BTreeSet<&str> = compute.iter().map(|gpu| gpu.name.as_str()).collect();
    if names.len() == 1 {
        return Ok(Verdict::Pass);
    }
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    let says = format!(
        "the GPUs are of different models ({list}): a job over all of them is held back by the weakest"
    );
    let fix = Fix::safe(
        "Give a job GPUs of one model, by UUID; PCI_BUS_ID makes CUDA count as nvidia-smi does.",
        &["nvidia-smi -L", "export CUDA_DEVICE_ORDER=PCI_BUS_ID"],
    );
    Ok(compute.iter().fold(Verdict::warning(says, fix), |verdict, gpu| verdict.evidence(gpu.label())))
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
