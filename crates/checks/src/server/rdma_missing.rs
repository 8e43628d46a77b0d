//! RDMA is expected, or an adapter for it is on the bus, but there is no RDMA device.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::Missing;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "rdma-missing",
    group: Group::Rdma,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "RDMA adapters are visible as RDMA devices",
    explain: include_str!("rdma_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let expected = facts.expected.rdma == Some(true);
    let devices = facts.rdma.devices.decided()?.map_or(0, Vec::len);
    let (adapters, unread) = adapters(facts)?;
    if !expected {
        meant(facts, adapters.is_empty() && unread.is_none())?;
    }
    if devices > 0 {
        return Ok(Verdict::Pass);
    }
    if let Some(why) = unread.filter(|_| !expected && adapters.is_empty()) {
        return Err(Verdict::Unknown(why));
    }
    if adapters.is_empty() {
        let message = "RDMA was expected but there is no RDMA device; NCCL silently falls back to TCP";
        let fix = Fix::safe(
            "Check whether the adapter is on the PCI bus and which driver it uses:",
            &["lspci -nnk -d 15b3:"],
        );
        return Ok(Verdict::error(message, fix).evidence("/sys/class/infiniband has no device"));
    }
    let message = "a ConnectX adapter is bound to mlx5_core but is not an RDMA device; NCCL silently falls \
                   back to TCP";
    let fix = Fix::safe(
        "Load the RDMA driver and check for the device:",
        &["sudo modprobe mlx5_ib", "ls /sys/class/infiniband"],
    );
    let verdict = if expected { Verdict::error(message, fix) } else { Verdict::warning(message, fix) };
    Ok(verdict.evidence(format!("mlx5_core on {}; /sys/class/infiniband has no device", adapters.join(", "))))
}

/// The adapters that mlx5_core drives, and why the driver of another one is not known.
fn adapters(facts: &Facts) -> Result<(Vec<&str>, Option<Missing>), Verdict> {
    let (mut bound, mut unread) = (Vec::new(), None);
    let devices = facts.pci.devices.decided()?.into_iter().flatten();
    for device in devices.filter(|device| device.is_adapter() && !device.virtual_function) {
        match &device.driver {
            Fact::Known(driver) if driver == "mlx5_core" => bound.push(device.address.as_str()),
            Fact::Known(_) | Fact::Absent => {}
            Fact::Unknown(why) => unread = Some(why.clone().about(&device.address)),
        }
    }
    Ok((bound, unread))
}

/// Whether an adapter means RDMA where nobody expects it. A card for Ethernet alone needs none where nobody
/// computes, and a container may have a network of its own.
fn meant(facts: &Facts, no_adapter: bool) -> Result<(), Verdict> {
    let reason = if no_adapter {
        "RDMA is not expected, and mlx5_core drives no adapter on the PCI bus"
    } else if facts.system.container.decided()?.is_some() {
        "RDMA is not expected, and a container may have a network without it"
    } else if !*facts.has_gpu().require("RDMA is not expected, and this machine has no GPU")? {
        "RDMA is not expected, and this machine has no GPU"
    } else {
        return Ok(());
    };
    Err(Verdict::NotApplicable(reason.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;

    use facts::pci::Device;

    fn adapter() -> Device {
        Device {
            address: "0000:1b:00.0".into(),
            vendor: 0x15b3,
            device: 0x1021,
            class: 0x020700,
            driver: Fact::Known("mlx5_core".into()),
            link: Fact::Absent,
            iommu_group: Fact::Absent,
            numa_node: Fact::Absent,
            virtual_function: false,
            upstream: Fact::Absent,
            iommu_type: Fact::Absent,
            acs_redirects: Fact::Absent,
            answers: Fact::Absent,
        }
    }

    #[test]
    fn missing_devices_are_found() {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![]);
        expect(&CHECK, &facts, "not-applicable", "");
        facts.pci.devices = Fact::Known(vec![adapter()]);
        expect(&CHECK, &facts, "warning", "not an RDMA device");
        facts.expected.rdma = Some(true);
        expect(&CHECK, &facts, "error", "not an RDMA device");
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400)]);
        expect(&CHECK, &facts, "pass", "");
        facts.rdma.devices = Fact::Unknown("no /sys".into());
        expect(&CHECK, &facts, "unknown", "");
    }

    #[test]
    fn unknown_driver_or_gpu_is_unknown_and_the_reason_is_the_real_one() {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![]);
        let denied = || Fact::Unknown("driver: permission denied".into());
        facts.pci.devices = Fact::Known(vec![Device { driver: denied(), ..adapter() }]);
        expect(&CHECK, &facts, "unknown", "0000:1b:00.0: driver: permission denied");
        facts.pci.devices = Fact::Known(vec![Device { driver: Fact::Known("vfio-pci".into()), ..adapter() }]);
        expect(&CHECK, &facts, "not-applicable", "mlx5_core drives no adapter");
        let mut host = build_host();
        host.rdma.devices = Fact::Known(vec![]);
        host.pci.devices = Fact::Known(vec![adapter()]);
        expect(&CHECK, &host, "not-applicable", "this machine has no GPU");
        let mut container = facts.clone();
        container.pci.devices = Fact::Known(vec![adapter()]);
        container.system.container = Fact::Known("docker".into());
        expect(&CHECK, &container, "not-applicable", "a container may have");
    }
}
