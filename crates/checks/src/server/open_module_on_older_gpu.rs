//! The open kernel module meets a GPU that it does not drive.

use crate::driver::is_open;
use crate::gpu::name;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "open-module-on-older-gpu",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "GPUs older than Turing have the proprietary kernel module",
    explain: include_str!("open_module_on_older_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let older: Vec<_> = facts
        .pci
        .gpus()
        .filter(|gpu| facts.catalog.gpus().by_pci(gpu.device).and_then(|row| row.open_module) == Some(false))
        .collect();
    let Some(first) = older.first() else {
        return Ok(Verdict::NotApplicable(
            "no GPU here is known to need the proprietary kernel module".into(),
        ));
    };
    if !is_open(facts)? {
        return Ok(Verdict::Pass);
    }
    crate::yield_to(&[&super::driver_too_new_for_gpu::CHECK], facts)?;
    let message =
        format!("the open kernel module is installed, but {} needs the proprietary one", name(facts, first));
    let fix = Fix::needs_reboot(
        "Install the proprietary module of branch 580, the last for this GPU: \
         https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html",
        &[],
    );
    Ok(older
        .iter()
        .fold(Verdict::error(message, fix).about(Subject::name(first.address.clone())), |verdict, gpu| {
            verdict.evidence(format!("{} {}", gpu.address, name(facts, gpu)))
        }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use catalog::testing::catalog;
    use facts::Fact;
    use facts::testing::server::{first, server};

    #[test]
    fn open_module_on_unsupported_gpu_is_an_error() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "no GPU");
        // The newest of them: drivers of today still drive it.
        let row = catalog()
            .gpus()
            .all()
            .iter()
            .rfind(|row| row.open_module == Some(false) && !row.pci_ids.is_empty());
        let Some(row) = row else { return };
        let mut facts = server(|f| first(f, |gpu| gpu.device = row.pci_ids[0]));
        expect(&CHECK, &facts, "error", "proprietary");
        facts.driver.module = facts.driver.module.map(|mut module| {
            module.open = false;
            module
        });
        expect(&CHECK, &facts, "pass", "");
        facts.driver.module = Fact::Unknown("x".into());
        expect(&CHECK, &facts, "unknown", "x");
    }
}
