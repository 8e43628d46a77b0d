//! A GPU refuses every CUDA program.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::names;

/// The check.
pub const CHECK: Check = Check {
    id: "compute-mode-prohibited",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "every GPU takes CUDA programs",
    explain: "\
## What it checks
The compute mode of each GPU.

## Why it matters
In the mode \"Prohibited\" no program can open a CUDA context on the GPU; torch says \"all CUDA-capable devices
are busy or unavailable\". \"Exclusive process\" is a choice that schedulers make and no finding.

## How to fix it
Set the mode back to its default. It is not kept over a boot, so that something sets it: look for
`nvidia-smi -c` in start scripts.

## Sources
- cuda.bindings.nvml.ComputeMode (no contexts) and device_set_compute_mode (not kept over a boot), in
  nvidia.github.io/cuda-python
- CUDA runtime API: cudaErrorDevicesUnavailable (46)
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let found = facts.gpu.found("no GPU here has a compute mode", |gpu| {
        gpu.compute_mode.as_ref().map(|mode| mode == "Prohibited")
    })?;
    if found.is_empty() {
        return Ok(Verdict::Pass);
    }
    let commands: Vec<String> =
        found.iter().map(|gpu| format!("sudo nvidia-smi -i {} -c DEFAULT", gpu.index)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let verb = if found.len() == 1 { "is" } else { "are" };
    let says = format!("{} {verb} in compute mode Prohibited: no CUDA program can use it", names(&found));
    let verdict = Verdict::error(says, Fix::safe("", &commands));
    Ok(found
        .iter()
        .fold(verdict, |verdict, gpu| verdict.evidence(format!("{}: compute_mode Prohibited", gpu.label()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{smi::machine, unknown};

    #[test]
    fn only_prohibited_is_a_finding() {
        let mode = |mode: &str| machine(&[&format!("<compute_mode>{mode}</compute_mode>")]);
        assert_eq!(kind(&CHECK, &mode("Prohibited")), "error");
        assert_eq!(kind(&CHECK, &mode("Exclusive_Process")), "pass");
        assert_eq!(kind(&CHECK, &mode("Default")), "pass");
        assert_eq!(kind(&CHECK, &mode("Unknown Error")), "unknown");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
