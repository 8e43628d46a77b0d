//! Devices on the PCI bus.

use crate::Fact;
use crate::pci::{Device, Link};

/// An H100 at an address, bound to the driver, at full link speed, below a root port.
pub fn gpu(address: &str) -> Device {
    Device {
        address: address.into(),
        vendor: 0x10de,
        device: 0x2330,
        class: 0x030200,
        driver: Fact::Known("nvidia".into()),
        link: Fact::Known(Link { speed: 320, speed_max: 320, width: 16, width_max: 16 }),
        iommu_group: Fact::Absent,
        numa_node: Fact::Known(0),
        virtual_function: false,
        upstream: Fact::Absent,
        iommu_type: Fact::Absent,
        acs_redirects: Fact::Absent,
        answers: Fact::Known(true),
    }
}

/// A bridge below another.
pub fn bridge(address: &str, upstream: Option<&str>) -> Device {
    Device {
        vendor: 0x1000,
        device: 0xc030,
        class: 0x060400,
        driver: Fact::Absent,
        upstream: upstream.map_or(Fact::Absent, |above| Fact::Known(above.to_owned())),
        answers: Fact::Absent,
        ..gpu(address)
    }
}

/// A device of NVIDIA of which only class and driver are known.
pub fn device(address: &str, class: u32, driver: &str) -> Device {
    Device {
        class,
        driver: Fact::Known(driver.into()),
        link: Fact::Absent,
        numa_node: Fact::Absent,
        answers: Fact::Absent,
        ..gpu(address)
    }
}
