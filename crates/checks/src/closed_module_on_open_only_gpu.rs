//! The proprietary kernel module meets a GPU that only the open one drives.

use super::gpu_without_driver::{name, replace};
use super::{Applies, Check, Group, Judged, Severity, Verdict};
use catalog::gpus;
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "closed-module-on-open-only-gpu",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "GPUs that need NVIDIA's open kernel module have it",
    explain: "\
## What it checks
Whether the NVIDIA module that is loaded (or, where none is, the one on disk) is the proprietary one while
a GPU on the PCI bus works with the open one only.

## Why it matters
From Blackwell on (and on Grace Hopper) only the open kernel module drives the GPU. The proprietary one
loads and cannot start the GPU: \"requires use of the NVIDIA open kernel modules\" or \"RmInitAdapter failed\"
in the kernel's log, \"No devices were found\" from `nvidia-smi`.

## How to fix it
Install the packages with `open` in their names in place of the others, and reboot.

## Sources
- https://github.com/Start9Labs/start-technologies/issues/3465 and pull request 3693 (the driver's README:
  Blackwell and later only with the open modules; log of the proprietary one)
- https://github.com/getsolus/packages/issues/5575 (an RTX 5090 with the proprietary module)
- catalog/gpus.yaml (which GPUs, with the source of each)
",
    judge,
};

/// Whether the module that is loaded, else the one on disk, is the open one.
pub(super) fn open(facts: &Facts) -> Result<bool, Verdict> {
    if let Some(module) = facts.driver.module.decided()? {
        return Ok(module.open);
    }
    let file = facts.modules.nvidia_file.require("no driver is installed")?;
    Ok(*file.open.require("the module does not name its licence")?)
}

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let needy: Vec<_> = facts
        .pci
        .gpus()
        .filter(|gpu| gpus::by_pci(gpu.device).and_then(|row| row.open_module_only) == Some(true))
        .collect();
    let Some(first) = needy.first() else {
        return Ok(Verdict::NotApplicable("no GPU is known here to need the open kernel module".into()));
    };
    if open(facts)? {
        return Ok(Verdict::Pass);
    }
    super::yield_to(&[&super::driver_too_old_for_gpu::CHECK], facts)?;
    let says = format!(
        "the proprietary kernel module is installed, but {} works with NVIDIA's open kernel module only",
        name(first)
    );
    Ok(needy.iter().fold(Verdict::error(says, replace(facts)), |verdict, gpu| {
        verdict.evidence(format!("{} {}", gpu.address, name(gpu)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::{first, server};

    #[test]
    fn the_closed_module_does_not_drive_them() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "no GPU");
        let row =
            gpus::all().iter().find(|row| row.open_module_only == Some(true) && !row.pci_ids.is_empty());
        let Some(row) = row else { return };
        let on = |open: bool| {
            server(|f| {
                first(f, |gpu| gpu.device = row.pci_ids[0]);
                f.driver.module = f.driver.module.clone().map(|mut module| {
                    module.open = open;
                    module
                });
            })
        };
        expect(&CHECK, &on(false), "error", "open kernel module only");
        expect(&CHECK, &on(true), "pass", "");
        let mut unknown = on(true);
        unknown.driver.module = Fact::Unknown("x".into());
        expect(&CHECK, &unknown, "unknown", "x");
    }
}
