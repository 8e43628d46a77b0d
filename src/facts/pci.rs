//! Devices on the PCI bus: GPUs, NVSwitches, network adapters, their links, ACS and IOMMU groups.

use super::Fact;
use crate::host::Host;

/// The PCI bus.
#[derive(Debug, Clone)]
pub struct Pci {
    /// Every device that matters here (NVIDIA's, Mellanox's, and the bridges above them), in address order:
    /// `/sys/bus/pci/devices/*/{vendor,device,class,…}`. `Known(vec![])` where there is no PCI bus at all.
    pub devices: Fact<Vec<Device>>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// `0000:1b:00.0`.
    pub address: String,
    /// Vendor id; NVIDIA is `0x10de`, Mellanox `0x15b3`.
    pub vendor: u16,
    /// Device id.
    pub device: u16,
    /// Class code, 24 bits: `0x030200` is a 3D controller, `0x068000` a bridge of another kind (NVSwitch).
    pub class: u32,
    /// The kernel driver that is bound to it: target of the link `driver`. Absent when none is.
    pub driver: Fact<String>,
    /// PCIe link now and at most: `current_link_speed`, `current_link_width`, `max_link_speed`, `max_link_width`.
    pub link: Fact<Link>,
    /// IOMMU group: target of the link `iommu_group`. Absent when the IOMMU is off.
    pub iommu_group: Fact<u32>,
    /// NUMA node; absent when the firmware names none (-1).
    pub numa_node: Fact<u32>,
    /// Physical function this one is a virtual function of (link `physfn`).
    pub virtual_function: bool,
    /// The bridge directly above it, `0000:17:01.0`, from its place in `/sys/devices`.
    pub upstream: Option<String>,
}

/// A PCIe link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Transfer rate now in units of 0.1 GT/s (`160` is 16.0 GT/s).
    pub speed: u32,
    /// The fastest the device can do, same unit.
    pub speed_max: u32,
    /// Lanes now.
    pub width: u32,
    /// The most lanes the device has.
    pub width_max: u32,
}

impl Device {
    /// An NVIDIA display or 3D controller.
    pub fn is_gpu(&self) -> bool {
        self.vendor == 0x10de && self.class >> 16 == 0x03
    }
    /// An NVSwitch: NVIDIA, class "bridge, other".
    pub fn is_nvswitch(&self) -> bool {
        self.vendor == 0x10de && self.class >> 8 == 0x0680
    }
    /// A Mellanox (NVIDIA networking) adapter.
    pub fn is_mellanox(&self) -> bool {
        self.vendor == 0x15b3
    }
}

impl Pci {
    /// The GPUs, in address order; nothing when the bus could not be read.
    pub fn gpus(&self) -> impl Iterator<Item = &Device> {
        self.devices.known().into_iter().flatten().filter(|device| device.is_gpu())
    }
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Pci {
    let _ = host;
    Pci { devices: Fact::Unknown("not yet".into()) }
}
