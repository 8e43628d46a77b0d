//! The driver's branch has left the GPU's architecture behind.

use crate::driver::installed;
use crate::gpu::name;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "driver-too-new-for-gpu",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the driver still supports the architecture of every GPU",
    explain: include_str!("driver_too_new_for_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.pci.devices.require("no PCI bus")?;
    let version = installed(facts).require("no driver is installed")?.to_owned();
    let mut known = 0;
    let mut left: Vec<(&Device, &str, u32)> = Vec::new();
    for gpu in facts.pci.gpus() {
        let Some(row) = facts.catalog.gpus().by_pci(gpu.device) else { continue };
        let Some(architecture) =
            capability(&row.compute_capability).and_then(|it| facts.catalog.cuda().architecture(it))
        else {
            continue;
        };
        known += 1;
        if let Some(last) = architecture.last_driver_branch.filter(|last| version.branch > *last) {
            left.push((gpu, &row.architecture, last));
        }
    }
    let Some((gpu, architecture, last)) = left.first() else {
        return Ok(match known {
            0 => Verdict::NotApplicable("envdoc's catalog does not list these GPUs".into()),
            _ => Verdict::Pass,
        });
    };
    let message = format!(
        "driver {version} no longer supports {}; {last} is the last branch for {architecture} GPUs",
        name(facts, gpu)
    );
    let fix = Fix::needs_reboot(
        format!(
            "Install driver branch {last} and lock its version: \
             https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (version locking)."
        ),
        &[],
    );
    Ok(left.iter().fold(
        Verdict::error(message, fix).about(Subject::name(gpu.address.clone())),
        |verdict, (gpu, architecture, last)| {
            verdict.evidence(format!(
                "{} {}: {architecture}, supported up to branch {last}",
                gpu.address,
                name(facts, gpu)
            ))
        },
    ))
}

/// `9.0` as two numbers.
fn capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use catalog::testing::catalog;
    use facts::Fact;
    use facts::testing::server::{first, server};

    #[test]
    fn driver_that_dropped_the_architecture_is_an_error() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let volta = catalog()
            .gpus()
            .all()
            .iter()
            .find(|row| row.compute_capability == "7.0" && !row.pci_ids.is_empty());
        let Some(volta) = volta else { return };
        let with = |branch: u32| {
            server(|f| {
                first(f, |gpu| gpu.device = volta.pci_ids[0]);
                f.driver.module = f.driver.module.clone().map(|mut module| {
                    module.version.branch = branch;
                    module
                });
            })
        };
        expect(&CHECK, &with(590), "error", "580 is the last branch");
        expect(&CHECK, &with(580), "pass", "");
        expect(&CHECK, &server(|f| first(f, |gpu| gpu.device = 0xffff)), "not-applicable", "does not list");
        expect(&CHECK, &server(|f| f.driver.module = Fact::Unknown("x".into())), "unknown", "x");
    }
}
