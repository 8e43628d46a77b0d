//! Devices on the PCI bus: GPUs, NVSwitches, network adapters, their links, ACS and IOMMU groups.

mod acs;
mod bridges;

use super::Fact;
use crate::IntoFact;
use host::{Host, Reading, Stat};

#[derive(Debug, Clone)]
pub struct Pci {
    /// Every device that matters here (NVIDIA's, Mellanox's, and the bridges above them), in address order:
    /// `/sys/bus/pci/devices/*/{vendor,device,class,…}`. `Known(vec![])` where there is no PCI bus at all.
    pub devices: Fact<Vec<Device>>,
}

/// A device of `/sys/bus/pci/devices`.
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
    /// PCIe link now and at most: `current_link_speed`, `current_link_width`, `max_link_speed`,
    /// `max_link_width`.
    pub link: Fact<Link>,
    /// IOMMU group: target of the link `iommu_group`. Absent when the IOMMU is off.
    pub iommu_group: Fact<u32>,
    /// NUMA node; absent when the firmware names none (-1).
    pub numa_node: Fact<u32>,
    /// Physical function this one is a virtual function of (link `physfn`).
    pub virtual_function: bool,
    /// The bridge directly above it, `0000:17:01.0`, from its place in `/sys/devices`. It is one of the
    /// devices too. Absent at the top; unknown where the place or that bridge could not be read.
    pub upstream: Fact<String>,
    /// How the IOMMU treats its group: `identity` (addresses pass unchanged), `DMA`, `DMA-FQ` (translated):
    /// `/sys/kernel/iommu_groups/N/type`. Absent when the IOMMU is off or the kernel does not say. Read for
    /// GPUs and adapters.
    pub iommu_type: Fact<String>,
    /// Whether ACS redirects peer-to-peer requests to the root (`ReqRedir+`), read from the configuration
    /// space of the bridges above GPUs, which only root may see. Absent without that capability, and for all
    /// that is no bridge.
    pub acs_redirects: Fact<bool>,
    /// Whether the device still answers: its configuration space is not all ones. Read for GPUs; absent for
    /// others.
    pub answers: Fact<bool>,
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
    /// A Mellanox (NVIDIA networking) device: an adapter, or a bridge or management part on its card.
    pub fn is_mellanox(&self) -> bool {
        self.vendor == 0x15b3
    }
    /// A network or InfiniBand adapter of Mellanox.
    pub fn is_adapter(&self) -> bool {
        self.is_mellanox() && self.class >> 16 == 0x02
    }
    /// A PCI-to-PCI bridge: a root port or a port of a switch.
    pub fn is_bridge(&self) -> bool {
        self.class >> 8 == 0x0604
    }
}

impl Pci {
    /// The GPUs, in address order, without virtual functions; nothing when the bus could not be read.
    pub fn gpus(&self) -> impl Iterator<Item = &Device> {
        self.devices
            .known()
            .into_iter()
            .flatten()
            .filter(|device| device.is_gpu() && !device.virtual_function)
    }

    /// By address: `0000:1b:00.0`.
    pub fn at(&self, address: &str) -> Option<&Device> {
        self.devices.known().into_iter().flatten().find(|device| device.address == address)
    }

    /// The bridges above a device, the nearest first. Unknown where one of them could not be read.
    pub fn above<'a>(&'a self, device: &'a Device) -> Fact<Vec<&'a Device>> {
        let mut bridges: Vec<&Device> = Vec::new();
        let mut upstream = &device.upstream;
        loop {
            let bridge = match upstream {
                Fact::Known(address) => self.at(address),
                Fact::Absent => None,
                Fact::Unknown(why) => return Fact::Unknown(why.clone()),
            };
            match bridge {
                Some(bridge) if !bridges.contains(&bridge) => bridges.push(bridge),
                _ => return Fact::Known(bridges),
            }
            upstream = &bridges[bridges.len() - 1].upstream;
        }
    }
}

const DEVICES: &str = "/sys/bus/pci/devices";
const NVIDIA: u16 = 0x10de;
const MELLANOX: u16 = 0x15b3;

/// Gathers the group. Of each device on the bus only `vendor` is read; the rest only of those that matter.
pub fn gather(host: &dyn Host) -> Pci {
    Pci { devices: devices(host) }
}

/// Whether an NVIDIA display controller is on the bus: the cheap question before anything slow is asked about
/// the driver. True where that is not known.
pub(crate) fn may_have_gpu(host: &dyn Host) -> bool {
    match nvidia_and_mellanox(host) {
        Fact::Known(found) => found.iter().any(|found| found.vendor == NVIDIA && found.class >> 16 == 0x03),
        Fact::Absent => false,
        Fact::Unknown(_) => true,
    }
}

struct Found {
    address: String,
    vendor: u16,
    class: u32,
}

fn nvidia_and_mellanox(host: &dyn Host) -> Fact<Vec<Found>> {
    // A machine without PCI has no such directory; one where /sys is not mounted has no /sys/bus at all.
    let bus = || host.list("/sys/bus").text().must_exist("/sys/bus").map(|_| Vec::new());
    let addresses = host.list(DEVICES).lines().or_else(bus).about(DEVICES);
    addresses.and_then(|addresses| {
        let mut found = Vec::new();
        for address in addresses {
            let class = match hexadecimal(host, &address, "vendor") {
                Fact::Known(vendor) if [NVIDIA.into(), MELLANOX.into()].contains(&vendor) => {
                    hexadecimal(host, &address, "class").map(|class| (vendor as u16, class))
                }
                // Another vendor's, or taken off the bus since the list was made.
                Fact::Known(_) | Fact::Absent => continue,
                Fact::Unknown(why) => Fact::Unknown(why),
            };
            match class {
                Fact::Known((vendor, class)) => found.push(Found { address, vendor, class }),
                Fact::Absent => {}
                Fact::Unknown(why) => return Fact::Unknown(why),
            }
        }
        Fact::Known(found)
    })
}

fn devices(host: &dyn Host) -> Fact<Vec<Device>> {
    nvidia_and_mellanox(host).and_then(|found| {
        let mut devices: Vec<Device> = Vec::new();
        let mut chains: Vec<Vec<String>> = Vec::new();
        for found in found {
            let chain = bridges::above(host, &found.address);
            let upstream = chain.as_ref().and_then(|chain| bridges::last(chain));
            match device(host, found, upstream) {
                Fact::Known(device) => devices.push(device),
                Fact::Absent => continue,
                Fact::Unknown(why) => return Fact::Unknown(why),
            }
            chains.extend(chain.known().cloned());
        }
        bridges::add(host, &chains, &mut devices);
        // Peer-to-peer needs two ends, one of them a GPU.
        let ends = devices.iter().filter(|device| device.is_gpu() || device.is_adapter()).count();
        if ends > 1 && devices.iter().any(Device::is_gpu) {
            for device in devices.iter_mut().filter(|device| device.is_bridge()) {
                device.acs_redirects = acs::redirects(host, &device.address);
            }
        }
        devices.sort_by(|a, b| a.address.cmp(&b.address));
        Fact::Known(devices)
    })
}

fn device(host: &dyn Host, found: Found, upstream: Fact<String>) -> Fact<Device> {
    let Found { address, vendor, class } = found;
    hexadecimal(host, &address, "device").map(|id| {
        let group = linked(host, &address, "iommu_group").and_then(|name| number(&name));
        let mut device = Device {
            vendor,
            device: id as u16,
            class,
            driver: linked(host, &address, "driver"),
            link: link(host, &address),
            iommu_group: group.clone(),
            numa_node: numa_node(host, &address),
            virtual_function: matches!(host.stat(&format!("{DEVICES}/{address}/physfn")), Reading::Text(_)),
            upstream,
            iommu_type: Fact::Absent,
            acs_redirects: Fact::Absent,
            answers: Fact::Absent,
            address,
        };
        if device.is_gpu() || device.is_adapter() {
            let kind = |group| host.read(&format!("/sys/kernel/iommu_groups/{group}/type")).text();
            device.iommu_type = group.and_then(kind).map(|kind| kind.trim().to_owned());
        }
        if device.is_gpu() {
            let config = host.hex(&format!("{DEVICES}/{}/config", device.address)).text();
            device.answers = config.map(|config| answers(&config));
        }
        device
    })
}

/// A file with a number such as `0x10de`.
fn hexadecimal(host: &dyn Host, address: &str, file: &str) -> Fact<u32> {
    let path = format!("{DEVICES}/{address}/{file}");
    let text = host.read(&path).text().about(&path);
    text.and_then(|text| match u32::from_str_radix(text.trim().trim_start_matches("0x"), 16) {
        Ok(number) => Fact::Known(number),
        Err(_) => Fact::unknown(format!("{path} holds {:?}, not a number", text.trim())),
    })
}

/// The last name of the path that a link in the device's directory leads to.
fn linked(host: &dyn Host, address: &str, link: &str) -> Fact<String> {
    let path = format!("{DEVICES}/{address}/{link}");
    let stat = host.stat(&path).json::<Stat>().about(&path);
    stat.map(|stat| stat.path.rsplit('/').next().unwrap_or_default().to_owned())
}

fn number(text: &str) -> Fact<u32> {
    text.trim().parse().map_or_else(|_| Fact::unknown(format!("{text:?} is not a number")), Fact::Known)
}

/// `numa_node` holds -1 where the firmware names none.
fn numa_node(host: &dyn Host, address: &str) -> Fact<u32> {
    let text = host.read(&format!("{DEVICES}/{address}/numa_node")).text();
    text.and_then(|text| if text.trim() == "-1" { Fact::Absent } else { number(&text) })
}

fn link(host: &dyn Host, address: &str) -> Fact<Link> {
    let read = |file: &str| host.read(&format!("{DEVICES}/{address}/{file}")).text();
    let speed = |file: &str| read(file).and_then(|text| parse_speed(&text));
    let width = |file: &str| read(file).and_then(|text| parse_width(&text));
    speed("current_link_speed").and_then(|now| {
        speed("max_link_speed").and_then(|speed_max| {
            width("current_link_width").and_then(|now_wide| {
                width("max_link_width").map(|width_max| Link {
                    speed: now,
                    speed_max,
                    width: now_wide,
                    width_max,
                })
            })
        })
    })
}

/// Reads `8.0 GT/s PCIe`, `16 GT/s`; `Unknown` (virtual machines) is absent.
fn parse_speed(text: &str) -> Fact<u32> {
    let text = text.trim();
    if text.starts_with("Unknown") {
        return Fact::Absent;
    }
    let number = text.split(' ').next().filter(|_| text.contains("GT/s")).unwrap_or_default();
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    match (whole.parse::<u16>(), tenth.get(..1).unwrap_or_default().parse::<u32>()) {
        (Ok(whole), Ok(tenth)) => Fact::Known(u32::from(whole) * 10 + tenth),
        _ => Fact::unknown(format!("{text:?} is not a link speed")),
    }
}

/// Reads `16`; 0, 63 and 255 are what the kernel prints where a virtual device has no width.
fn parse_width(text: &str) -> Fact<u32> {
    number(text).and_then(|width| if (1..=32).contains(&width) { Fact::Known(width) } else { Fact::Absent })
}

/// A device that is gone answers every read with ones.
fn answers(config: &str) -> bool {
    !config.bytes().take(8).all(|digit| digit == b'f')
}

#[cfg(test)]
mod tests;
