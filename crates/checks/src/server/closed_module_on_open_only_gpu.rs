//! The proprietary kernel module meets a GPU that only the open one drives.

use crate::driver::is_open;
use crate::driver::replace;
use crate::gpu::name;
use crate::{Applies, Check, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "closed-module-on-open-only-gpu",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "GPUs that need NVIDIA's open kernel module have it",
    explain: include_str!("closed_module_on_open_only_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let needy: Vec<_> = facts
        .pci
        .gpus()
        .filter(|gpu| {
            facts.catalog.gpus().by_pci(gpu.device).and_then(|row| row.open_module_only) == Some(true)
        })
        .collect();
    let Some(first) = needy.first() else {
        return Ok(Verdict::NotApplicable("no GPU here is known to need the open kernel module".into()));
    };
    if is_open(facts)? {
        return Ok(Verdict::Pass);
    }
    crate::yield_to(&[&super::driver_too_old_for_gpu::CHECK], facts)?;
    let message = format!(
        "the proprietary kernel module is installed, but {} works only with NVIDIA's open kernel module",
        name(facts, first)
    );
    Ok(needy.iter().fold(
        Verdict::error(message, replace(facts)).about(Subject::name(first.address.clone())),
        |verdict, gpu| verdict.evidence(format!("{} {}", gpu.address, name(facts, gpu))),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use catalog::testing::catalog;
    use facts::Fact;
    use facts::testing::server::{first, server};

    #[test]
    fn proprietary_module_on_open_only_gpu_is_an_error() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "no GPU");
        let row = catalog()
            .gpus()
            .all()
            .iter()
            .find(|row| row.open_module_only == Some(true) && !row.pci_ids.is_empty());
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
        expect(&CHECK, &on(false), "error", "only with NVIDIA's open kernel module");
        expect(&CHECK, &on(true), "pass", "");
        let mut unknown = on(true);
        unknown.driver.module = Fact::Unknown("x".into());
        expect(&CHECK, &unknown, "unknown", "x");
    }
}
