//! The driver's branch is older than the GPU.

use super::gpu_without_driver::{name, replace};
use super::{Applies, Check, Group, Judged, Verdict};
use crate::catalog::gpus;
use crate::facts::driver::DriverVersion;
use crate::facts::{Fact, Facts};

/// The check.
pub const CHECK: Check = Check {
    id: "driver-too-old-for-gpu",
    group: Group::Driver,
    applies: Applies::GpuHost,
    summary: "the driver is new enough for every GPU",
    explain: "\
## What it checks
Compares the branch of the driver with the oldest branch that is known to drive each GPU on the PCI bus
(envdoc's catalog of GPUs). GPUs of which no such branch is known are left out.

## Why it matters
A driver that is older than the GPU does not know it: the module loads, takes no GPU, and `nvidia-smi`
says \"No devices were found\".

## How to fix it
Install a newer branch of the driver; a production or long-term branch for servers.

## Sources
- NVIDIA/open-gpu-kernel-modules: README.md, table of compatible GPUs
- https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let version = installed(facts).require("no driver is installed")?.to_owned();
    let mut known = 0;
    let mut old = Vec::new();
    for gpu in facts.pci.gpus() {
        let Some(minimum) = gpus::by_pci(gpu.device).and_then(|row| row.driver_branch_min) else { continue };
        known += 1;
        if version.branch < minimum {
            old.push((gpu, minimum));
        }
    }
    let Some(needed) = old.iter().map(|(_, minimum)| *minimum).max() else {
        return Ok(match known {
            0 => Verdict::NotApplicable("no oldest driver is known for these GPUs".into()),
            _ => Verdict::Pass,
        });
    };
    let says = format!(
        "driver {version} is older than {}: it needs branch {needed} or newer, and does not work with this one",
        name(old[0].0)
    );
    let verdict = Verdict::error(says, replace(facts));
    Ok(old.iter().fold(verdict, |verdict, (gpu, minimum)| {
        verdict.because(format!("{} {}: branch {minimum} or newer", gpu.address, name(gpu)))
    }))
}

/// The driver that is loaded, else the one whose module would be loaded.
pub(super) fn installed(facts: &Facts) -> Fact<DriverVersion> {
    facts.driver.module.clone().map(|module| module.version).or_else(|| {
        facts.modules.nvidia_on_disk.clone().and_then(|text| match text.parse() {
            Ok(version) => Fact::Known(version),
            Err(why) => Fact::Unknown(why),
        })
    })
}

/// The driver that is in use: the loaded module, on WSL2 that of Windows as `nvidia-smi` tells it.
pub(super) fn loaded(facts: &Facts) -> Fact<DriverVersion> {
    let module = facts.driver.module.clone().map(|module| module.version);
    module.or_else(|| facts.system.wsl.clone().and_then(|_| facts.gpu.driver.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::{
        expect,
        server::{first, server},
    };

    /// A GPU of the catalog that has an oldest branch.
    fn row() -> Option<&'static gpus::Gpu> {
        gpus::all()
            .iter()
            .find(|row| row.driver_branch_min.is_some_and(|b| b > 500) && !row.pci_ids.is_empty())
    }

    #[test]
    fn a_driver_older_than_the_gpu_is_an_error() {
        let Some(row) = row() else { return };
        let with = |branch: u32| {
            server(|f| {
                first(f, |gpu| gpu.device = row.pci_ids[0]);
                f.driver.module = f.driver.module.clone().map(|mut module| {
                    module.version.branch = branch;
                    module
                });
            })
        };
        let minimum = row.driver_branch_min.unwrap();
        expect(&CHECK, &with(minimum - 5), "error", "is older than");
        expect(&CHECK, &with(minimum), "pass", "");
        expect(
            &CHECK,
            &server(|f| first(f, |gpu| gpu.device = 0xffff)),
            "not-applicable",
            "no oldest driver",
        );
        expect(&CHECK, &server(|f| f.driver.module = Fact::Unknown("x".into())), "unknown", "x");
    }
}
