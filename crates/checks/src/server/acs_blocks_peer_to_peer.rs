//! PCIe switches send traffic between their own devices up to the CPU.

use crate::gpu::is_pass_through;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::pci::{Device, Pci};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "acs-blocks-peer-to-peer",
    group: Group::Pci,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "PCIe switches let their GPUs and network adapters exchange data directly",
    explain: include_str!("acs_blocks_peer_to_peer.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let ports = switch_ports(facts)?;
    let mut redirecting = Vec::new();
    for port in &ports {
        if port.acs_redirects.decided()? == Some(&true) {
            redirecting.push(*port);
        }
    }
    if redirecting.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "ACS redirects peer-to-peer traffic to the CPU on {} of {} PCIe switch ports above GPUs and \
         adapters; GPUDirect is slow there and NCCL may hang",
        redirecting.len(),
        ports.len()
    );
    let ports_of: Vec<&str> = redirecting.iter().map(|port| port.address.as_str()).collect();
    let command =
        format!("for port in {}; do sudo setpci -s $port ECAP_ACS+0x6.w=0000; done", ports_of.join(" "));
    let fix = Fix::safe(
        "Turn ACS off until the next boot (to turn it off permanently, use the firmware setup):",
        &[&command],
    );
    Ok(redirecting
        .iter()
        .fold(Verdict::warning(message, fix).about(Subject::name(ports_of.join(", "))), |verdict, port| {
            verdict.evidence(format!("{}: ACSCtl ReqRedir+", port.address))
        }))
}

/// The ports of switches on the way between a GPU and a peer that share the switch.
fn switch_ports(facts: &Facts) -> Result<Vec<&Device>, Verdict> {
    if facts.system.virtualisation.decided()?.is_some() {
        return Err(Verdict::NotApplicable("in a virtual machine the hypervisor controls ACS".into()));
    }
    let devices = facts.pci.devices.require("no PCI bus")?;
    for gpu in facts.pci.gpus() {
        if gpu.driver.decided()?.is_some_and(|driver| is_pass_through(driver)) {
            return Err(Verdict::NotApplicable("GPUs are passed through to virtual machines".into()));
        }
    }
    let nvlink = devices.iter().any(Device::is_nvswitch);
    let ends = ends(&facts.pci, devices)?;
    let ports: Vec<&Device> =
        devices.iter().filter(|port| port.is_bridge() && shared(&ends, port, nvlink)).collect();
    if ports.is_empty() {
        return Err(Verdict::NotApplicable("no GPU shares a PCIe switch with a peer".into()));
    }
    Ok(ports)
}

/// A GPU or an adapter, and the bridges above it.
struct End<'f> {
    device: &'f Device,
    above: Vec<&'f Device>,
}

impl End<'_> {
    fn is_below(&self, bridge: &str) -> bool {
        self.above.iter().any(|above| above.address == bridge)
    }
}

/// What exchanges data; nothing where there is only one end.
fn ends<'f>(pci: &'f Pci, devices: &'f [Device]) -> Result<Vec<End<'f>>, Verdict> {
    let is_end = |device: &&Device| (device.is_gpu() || device.is_adapter()) && !device.virtual_function;
    let all: Vec<&Device> = devices.iter().filter(is_end).collect();
    let mut ends = Vec::new();
    for device in all.iter().copied().filter(|_| all.len() > 1) {
        let above = pci.above(device).require("no PCI bus")?.clone();
        ends.push(End { device, above });
    }
    Ok(ends)
}

/// Whether a port belongs to a switch (it has a bridge above it) below which a GPU has a peer, and leads to
/// one of them.
fn shared(ends: &[End<'_>], port: &Device, nvlink: bool) -> bool {
    // Where that bridge is unknown, `ends` has reported it for the devices below.
    let Fact::Known(switch) = &port.upstream else { return false };
    let below_switch: Vec<&End<'_>> = ends.iter().filter(|end| end.is_below(switch)).collect();
    let gpus = below_switch.iter().filter(|end| end.device.is_gpu()).count();
    let adapters = below_switch.len() - gpus;
    let peers = gpus > 0 && (adapters > 0 || (gpus > 1 && !nvlink));
    peers && below_switch.iter().any(|end| end.is_below(&port.address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::{
        pci::{bridge, gpu},
        server::server,
    };

    /// Two GPUs below one switch.
    fn switch(redirects: Fact<bool>) -> Facts {
        let below = |address: &str, port: &str| {
            let mut device = gpu(address);
            device.upstream = Fact::Known(port.into());
            device
        };
        let mut port = bridge("0000:19:00.0", Some("0000:18:00.0"));
        port.acs_redirects = redirects;
        let devices = vec![
            bridge("0000:17:01.0", None),
            bridge("0000:18:00.0", Some("0000:17:01.0")),
            port,
            bridge("0000:19:01.0", Some("0000:18:00.0")),
            below("0000:1b:00.0", "0000:19:00.0"),
            below("0000:1c:00.0", "0000:19:01.0"),
        ];
        server(|f| f.pci.devices = Fact::Known(devices))
    }

    #[test]
    fn redirection_below_a_shared_switch_is_a_warning() {
        expect(&CHECK, &switch(Fact::Known(false)), "pass", "");
        expect(&CHECK, &switch(Fact::Known(true)), "warning", "1 of 3 PCIe switch ports");
        expect(&CHECK, &switch(Fact::Unknown("run with sudo".into())), "unknown", "sudo");
        let mut unread = switch(Fact::Known(false));
        if let Fact::Known(devices) = &mut unread.pci.devices {
            devices[4].upstream = Fact::Unknown("0000:19:00.0: permission denied".into());
        }
        expect(&CHECK, &unread, "unknown", "0000:19:00.0: permission denied");
        expect(&CHECK, &server(|_| {}), "not-applicable", "no GPU shares");
        let mut guest = switch(Fact::Known(true));
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "not-applicable", "hypervisor");
    }

    #[test]
    fn not_applicable_with_nvswitches() {
        let mut facts = switch(Fact::Known(true));
        if let Fact::Known(devices) = &mut facts.pci.devices {
            let mut nvswitch = gpu("0000:07:00.0");
            nvswitch.class = 0x068000;
            devices.push(nvswitch);
        }
        expect(&CHECK, &facts, "not-applicable", "no GPU shares");
    }
}
