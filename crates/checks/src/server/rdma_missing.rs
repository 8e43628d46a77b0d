//! RDMA is expected, or an adapter for it is on the bus, but there is no RDMA device.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
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
    let adapters: Vec<&str> = facts
        .pci
        .devices
        .decided()?
        .into_iter()
        .flatten()
        .filter(|device| device.is_mellanox() && device.class >> 16 == 0x02 && !device.virtual_function)
        .filter(|device| device.driver.known().is_some_and(|driver| driver == "mlx5_core"))
        .map(|device| device.address.as_str())
        .collect();
    // A card for Ethernet alone needs no RDMA where nobody computes, and a container may have a network of
    // its own.
    let meant = facts.has_gpu() == Fact::Known(true) && facts.system.container.decided()?.is_none();
    if !expected && (adapters.is_empty() || !meant) {
        return Err(Verdict::NotApplicable(
            "RDMA is not expected, and no RDMA adapter is on the PCI bus".into(),
        ));
    }
    if devices > 0 {
        return Ok(Verdict::Pass);
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
            upstream: None,
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
}
