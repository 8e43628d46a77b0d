//! The driver's branch is older than the GPU.

use crate::driver::is_open;
use crate::driver::{installed, replace};
use crate::gpu::name;
use crate::{Applies, Check, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "driver-too-old-for-gpu",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the driver is new enough for every GPU",
    explain: include_str!("driver_too_old_for_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let version = installed(facts).require("no driver is installed")?.to_owned();
    let mut known = 0;
    let mut certain = false;
    let mut old = Vec::new();
    for gpu in facts.pci.gpus() {
        let Some(row) = facts.catalog.gpus().by_pci(gpu.device) else { continue };
        let Some(minimum) = row.driver_branch_min else { continue };
        known += 1;
        if version.branch >= minimum {
            continue;
        }
        // The driver's probe takes no GPU that it does not know.
        let taken = gpu.driver.decided()?.is_some_and(|driver| driver == "nvidia");
        let only_open = row.open_module_only == Some(true);
        if only_open || !taken {
            certain |= only_open || is_open(facts)?;
            old.push((gpu, minimum));
        }
    }
    let Some(needed) = old.iter().map(|(_, minimum)| *minimum).max() else {
        return Ok(match known {
            0 => Verdict::NotApplicable("envdoc's catalog has no minimum driver for these GPUs".into()),
            _ => Verdict::Pass,
        });
    };
    let gpu = name(facts, old[0].0);
    let verdict = if certain {
        let message = format!(
            "driver {version} is too old for {gpu}, which needs branch {needed} or newer; the GPU does not \
             work"
        );
        Verdict::error(message, replace(facts)).about(Subject::name(old[0].0.address.clone()))
    } else {
        let message = format!(
            "driver {version} did not bind {gpu} and may be too old for it; the open kernel module supports \
             it from branch {needed}"
        );
        Verdict::warning(message, replace(facts)).about(Subject::name(old[0].0.address.clone()))
    };
    Ok(old.iter().fold(verdict, |verdict, (gpu, minimum)| {
        verdict.evidence(format!("{} {}: branch {minimum} or newer", gpu.address, name(facts, gpu)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use catalog::gpus;
    use catalog::testing::catalog;
    use facts::Fact;
    use facts::testing::server::{first, server};

    /// A GPU of the catalog that has an oldest branch, and works with the open module only or with both.
    fn row(only_open: bool) -> &'static gpus::Gpu {
        let mut rows =
            catalog().gpus().all().iter().filter(|row| row.driver_branch_min.is_some_and(|b| b > 500));
        rows.find(|row| !row.pci_ids.is_empty() && row.open_module_only == Some(only_open)).unwrap()
    }

    fn with(row: &gpus::Gpu, older: u32, open: bool, taken: bool) -> Facts {
        server(|f| {
            first(f, |gpu| {
                gpu.device = row.pci_ids[0];
                gpu.driver = if taken { Fact::Known("nvidia".into()) } else { Fact::Absent };
            });
            f.driver.module = f.driver.module.clone().map(|mut module| {
                module.version.branch = row.driver_branch_min.unwrap() - older;
                module.open = open;
                module
            });
        })
    }

    #[test]
    fn a_driver_older_than_the_gpu_is_an_error() {
        expect(&CHECK, &with(row(true), 5, false, true), "error", "is too old for");
        expect(&CHECK, &with(row(true), 0, true, true), "pass", "");
        expect(&CHECK, &with(row(false), 5, true, false), "error", "is too old for");
        expect(&CHECK, &with(row(false), 0, true, true), "pass", "");
        expect(
            &CHECK,
            &server(|f| first(f, |gpu| gpu.device = 0xffff)),
            "not-applicable",
            "no minimum driver",
        );
        expect(&CHECK, &server(|f| f.driver.module = Fact::Unknown("x".into())), "unknown", "x");
    }

    #[test]
    fn unbound_gpu_below_open_module_minimum_is_only_a_warning() {
        expect(&CHECK, &with(row(false), 5, false, false), "warning", "may be too old");
        expect(&CHECK, &with(row(false), 5, false, true), "pass", "");
    }
}
