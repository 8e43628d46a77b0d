//! The bridges above devices, from their places in `/sys/devices`.

use super::{DEVICES, Device, hexadecimal, link};
use crate::{Fact, IntoFact};
use host::{Host, Missing, Stat};

/// The addresses of the bridges above a device, the topmost first, from its real path:
/// `/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/0000:1b:00.0`.
pub(super) fn above(host: &dyn Host, address: &str) -> Fact<Vec<String>> {
    let path = format!("{DEVICES}/{address}");
    host.stat(&path).json::<Stat>().about(&path).map(|stat| {
        let path = stat.path.strip_prefix(DEVICES).map_or(stat.path.as_str(), |_| "");
        path.split('/').filter(|part| is_address(part) && *part != address).map(str::to_owned).collect()
    })
}

pub(super) fn last(chain: &[String]) -> Fact<String> {
    chain.last().map_or(Fact::Absent, |address| Fact::Known(address.clone()))
}

/// Adds the bridges of these chains. What is below one that cannot be read has an unknown one above it.
pub(super) fn add(host: &dyn Host, chains: &[Vec<String>], devices: &mut Vec<Device>) {
    let mut unread: Vec<(&String, Missing)> = Vec::new();
    for chain in chains {
        for (index, address) in chain.iter().enumerate() {
            if devices.iter().any(|device| device.address == *address) {
                continue;
            }
            match bridge(host, address, last(&chain[..index])) {
                Fact::Known(bridge) => devices.push(bridge),
                Fact::Absent => {}
                Fact::Unknown(why) => unread.push((address, why)),
            }
        }
    }
    for (address, why) in unread {
        let below = |device: &&mut Device| device.upstream.known() == Some(address);
        devices.iter_mut().filter(below).for_each(|device| device.upstream = Fact::Unknown(why.clone()));
    }
}

/// `0000:17:01.0`; domains may have more than four digits (`10000:e1:00.0` behind Intel VMD).
fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    matches!(lengths[..], [domain, 2, 2, 1] if domain >= 4)
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A bridge above one of the devices: what it is and its link.
fn bridge(host: &dyn Host, address: &str, upstream: Fact<String>) -> Fact<Device> {
    let read = |file: &str| hexadecimal(host, address, file);
    read("vendor").and_then(|vendor| {
        read("class").and_then(|class| {
            read("device").map(|device| Device {
                address: address.to_owned(),
                vendor: vendor as u16,
                device: device as u16,
                class,
                driver: Fact::Absent,
                link: link(host, address),
                iommu_group: Fact::Absent,
                numa_node: Fact::Absent,
                virtual_function: false,
                upstream,
                iommu_type: Fact::Absent,
                acs_redirects: Fact::Absent,
                answers: Fact::Absent,
            })
        })
    })
}
