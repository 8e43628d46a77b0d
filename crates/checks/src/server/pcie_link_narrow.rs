//! A GPU's PCIe link has fewer lanes than the GPU and its slot have.

use crate::gpu::name;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::pci::{Device, Link, Pci};

pub(super) const CHECK: Check = Check {
    id: "pcie-link-narrow",
    group: Group::Pci,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "every GPU's PCIe link uses all lanes of GPU and slot",
    explain: include_str!("pcie_link_narrow.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let links = links(facts)?;
    let narrow: Vec<_> =
        links.iter().filter(|(_, link, port)| link.width < link.width_max.min(port.width_max)).collect();
    let Some((gpu, link, port)) = narrow.first() else { return Ok(Verdict::Pass) };
    let message = format!(
        "{} of {} GPUs have a degraded PCIe link: {} {} runs at x{} instead of x{}; transfers take longer",
        narrow.len(),
        links.len(),
        gpu.address,
        name(facts, gpu),
        link.width,
        link.width_max.min(port.width_max)
    );
    let fix = Fix::needs_reboot(
        "Look for PCIe errors, then power off and reseat the board, riser or cable:",
        &["sudo dmesg | grep -i -E 'aer|pcie bus error'", "sudo poweroff"],
    );
    Ok(narrow.iter().fold(
        Verdict::warning(message, fix).about(Subject::name(gpu.address.clone())),
        |verdict, (gpu, link, port)| {
            verdict.evidence(format!(
                "{} {}: x{} now, GPU x{}, port x{}",
                gpu.address,
                name(facts, gpu),
                link.width,
                link.width_max,
                port.width_max
            ))
        },
    ))
}

/// Every GPU with its link and that of the port above it.
pub(super) fn links(facts: &Facts) -> Result<Vec<(&Device, Link, Link)>, Verdict> {
    if facts.system.virtualisation.decided()?.is_some() {
        return Err(Verdict::NotApplicable("a virtual machine does not show the real PCIe port".into()));
    }
    facts.pci.devices.require("no PCI bus")?;
    let mut links = Vec::new();
    for gpu in facts.pci.gpus() {
        if let (Some(link), Some(port)) = (gpu.link.decided()?, port(&facts.pci, gpu)?) {
            links.push((gpu, *link, port));
        }
    }
    if links.is_empty() {
        return Err(Verdict::NotApplicable("no GPU reports a PCIe link to a port".into()));
    }
    Ok(links)
}

fn port(pci: &Pci, gpu: &Device) -> Result<Option<Link>, Verdict> {
    let port = gpu.upstream.decided()?.and_then(|address| pci.at(address));
    port.map_or(Ok(None), |port| Ok(port.link.decided()?.copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::Fact;
    use facts::testing::pci::{bridge, gpu};

    /// A server whose GPU and port have these links.
    fn linked(link: Link, port: Link) -> Facts {
        let mut device = gpu("0000:1b:00.0");
        device.link = Fact::Known(link);
        device.upstream = Fact::Known("0000:17:01.0".into());
        let mut above = bridge("0000:17:01.0", None);
        above.link = Fact::Known(port);
        server(|f| f.pci.devices = Fact::Known(vec![above, device]))
    }
    use crate::testing::expect;
    use facts::testing::server::{first, server};

    #[test]
    fn reports_link_narrower_than_both_ends_support() {
        let link = |width: u32, width_max: u32| Link { speed: 25, speed_max: 320, width, width_max };
        expect(&CHECK, &linked(link(16, 16), link(16, 16)), "pass", "");
        expect(&CHECK, &linked(link(8, 16), link(8, 8)), "pass", "");
        let narrow = linked(link(8, 16), link(8, 16));
        expect(&CHECK, &narrow, "warning", "runs at x8 instead of x16");
        let mut guest = narrow.clone();
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "not-applicable", "virtual machine");
        let mut unread = linked(link(16, 16), link(16, 16));
        if let Fact::Known(devices) = &mut unread.pci.devices {
            devices[1].upstream = Fact::Unknown("bridge: permission denied".into());
        }
        expect(&CHECK, &unread, "unknown", "bridge: permission denied");
        expect(&CHECK, &server(|_| {}), "not-applicable", "no GPU reports");
        expect(&CHECK, &server(|f| first(f, |gpu| gpu.link = Fact::Unknown("x".into()))), "unknown", "x");
    }
}
