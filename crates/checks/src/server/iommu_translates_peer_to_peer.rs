//! The IOMMU translates the addresses of GPUs that talk to each other over PCIe.

use crate::distribution::{Family, family};
use crate::gpu::{is_pass_through, name};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::pci::Device;

pub(super) const CHECK: Check = Check {
    id: "iommu-translates-peer-to-peer",
    group: Group::Pci,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the IOMMU passes through the addresses of GPUs that communicate over PCIe",
    explain: include_str!("iommu_translates_peer_to_peer.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    if facts.system.virtualisation.decided()?.is_some() {
        return Ok(Verdict::NotApplicable("in a virtual machine the hypervisor controls the IOMMU".into()));
    }
    if facts.system.architecture.require("the architecture is unknown")? != "x86_64" {
        return Ok(Verdict::NotApplicable("checked on x86-64 only".into()));
    }
    let devices = facts.pci.devices.require("no PCI bus")?;
    let data_centre =
        |gpu: &&Device| facts.catalog.gpus().by_pci(gpu.device).is_some_and(|row| row.data_centre);
    let gpus: Vec<&Device> = facts.pci.gpus().filter(data_centre).collect();
    let over_pcie = !devices.iter().any(Device::is_nvswitch) || devices.iter().any(Device::is_adapter);
    if gpus.len() < 2 || !over_pcie {
        return Ok(Verdict::NotApplicable("no data-center GPUs that communicate over PCIe".into()));
    }
    let mut translated = Vec::new();
    for gpu in &gpus {
        if gpu.driver.decided()?.is_some_and(|driver| is_pass_through(driver)) {
            return Ok(Verdict::NotApplicable("GPUs are passed through to virtual machines".into()));
        }
        if gpu.iommu_type.decided()?.is_some_and(|kind| kind.starts_with("DMA")) {
            translated.push(*gpu);
        }
    }
    if translated.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "the IOMMU translates the addresses of {} of {} GPUs; peer-to-peer over PCIe is slow with it and not \
         supported by NVIDIA on bare metal",
        translated.len(),
        gpus.len()
    );
    let text = "Boot with iommu=pt:";
    let fix = match family(facts) {
        Family::Rhel | Family::Fedora => {
            Fix::needs_reboot(text, &["sudo grubby --update-kernel=ALL --args=iommu=pt", "sudo reboot"])
        }
        Family::Ubuntu | Family::Debian => Fix::needs_reboot(
            "Add iommu=pt to GRUB_CMDLINE_LINUX and reboot:",
            &[
                r#"sudo sed -i 's/^GRUB_CMDLINE_LINUX="/&iommu=pt /' /etc/default/grub"#,
                "sudo update-grub",
                "sudo reboot",
            ],
        ),
        Family::Other => Fix::needs_reboot("Add iommu=pt to the kernel command line and reboot.", &[]),
    };
    Ok(translated.iter().fold(Verdict::warning(message, fix), |verdict, gpu| {
        let kind = gpu.iommu_type.known().map_or("", String::as_str);
        verdict.evidence(format!("{} {}: IOMMU group type {kind}", gpu.address, name(facts, gpu)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::{pci::gpu, server::server};

    fn two(kind: Fact<String>) -> Facts {
        let with = |address: &str| {
            let mut device = gpu(address);
            device.iommu_type = kind.clone();
            device
        };
        let devices = vec![with("0000:1b:00.0"), with("0000:43:00.0")];
        server(|f| f.pci.devices = Fact::Known(devices))
    }

    #[test]
    fn translation_between_gpus_is_a_warning() {
        expect(&CHECK, &two(Fact::Absent), "pass", "");
        expect(&CHECK, &two(Fact::Known("identity".into())), "pass", "");
        expect(&CHECK, &two(Fact::Known("DMA-FQ".into())), "warning", "2 of 2");
        expect(&CHECK, &two(Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|_| {}), "not-applicable", "no data-center");
        let mut guest = two(Fact::Known("DMA".into()));
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "not-applicable", "hypervisor");
    }
}
