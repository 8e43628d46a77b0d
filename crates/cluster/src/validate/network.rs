//! The network of the containers.

use std::net::IpAddr;

use super::value::{self, At};
use crate::plan::{Network, Node};
use crate::request::{NetworkKind, NetworkRequest};
use diagnostic::error::Error;

pub(super) fn validate(
    asked: &NetworkRequest,
    cluster: &str,
    nodes: &[Node],
    at: &At,
) -> Result<Network, Error> {
    let kind = asked.kind.unwrap_or_default();
    let name = match (kind, &asked.name) {
        (NetworkKind::Host, None) => "host".into(),
        (NetworkKind::Host, Some(name)) => {
            return Err(at.key("name").wrong(
                format!("{name:?} is given for the host network, which has no name"),
                "remove it, or write `kind: existing`",
            ));
        }
        (NetworkKind::Overlay, None) => format!("{cluster}-net"),
        (NetworkKind::Existing, None) => {
            return Err(at.key("name").wrong(
                "`kind: existing` requires a name",
                "write the name that `docker network ls` shows on every node",
            ));
        }
        (_, Some(name)) => at.key("name").fits(&value::NETWORK, name)?.to_owned(),
    };
    only_overlay(asked, kind, at)?;
    if let Some(mtu) = asked.mtu.filter(|mtu| !(576..=65_535).contains(mtu)) {
        return Err(at
            .key("mtu")
            .wrong(format!("{mtu} bytes"), "576 to 65535 [default: derived from the machines' interfaces]"));
    }
    if let Some(interface) = &asked.interface {
        at.key("interface").fits(&value::INTERFACE, interface)?;
    }
    if let Some(text) = &asked.subnet {
        subnet(text, nodes, &at.key("subnet"))?;
    }
    Ok(Network {
        kind,
        name,
        mtu: asked.mtu,
        encrypted: asked.encrypted,
        subnet: asked.subnet.clone(),
        interface: asked.interface.clone(),
        infiniband: asked.infiniband,
    })
}

/// Keys that describe a network which `up` makes mean nothing for one that is there.
fn only_overlay(asked: &NetworkRequest, kind: NetworkKind, at: &At) -> Result<(), Error> {
    if kind == NetworkKind::Overlay {
        return Ok(());
    }
    let given =
        [("mtu", asked.mtu.is_some()), ("encrypted", asked.encrypted), ("subnet", asked.subnet.is_some())];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(at.key(key).wrong(
            "this option applies only to an overlay that `up` creates",
            format!("remove `{key}`, or write `kind: overlay`"),
        )),
        None => Ok(()),
    }
}

/// A subnet: whole, large enough, and not where the machines themselves are.
fn subnet(text: &str, nodes: &[Node], at: &At) -> Result<(), Error> {
    let hint = "write an unused network such as 10.20.0.0/24";
    let parts = text
        .split_once('/')
        .and_then(|(ip, length)| Some((ip.parse::<IpAddr>().ok()?, length.parse::<u32>().ok()?)));
    let Some((ip, length)) = parts else {
        return Err(at.wrong(format!("{text:?} is not a subnet"), hint));
    };
    let (number, bits) = number(ip);
    if length == 0 || length > bits {
        return Err(at.wrong(format!("{text} has an invalid prefix length"), hint));
    }
    let mask = u128::MAX << (bits - length);
    if number & !mask != 0 {
        return Err(at.wrong(
            format!("{text} has host bits set"),
            format!("write {}/{length}", back(number & mask, bits)),
        ));
    }
    if !has_room(bits - length, nodes.len(), 1) {
        return Err(at.wrong(
            format!("{text} is too small for {} nodes", nodes.len()),
            "each node needs two addresses and the network three; a /24 has room for 126 nodes",
        ));
    }
    for node in nodes {
        let Ok(address) = node.address.parse::<IpAddr>() else { continue };
        let (one, width) = self::number(address);
        if width == bits && one & mask == number {
            return Err(at.wrong(
                format!("{text} contains {}, the address of {}", node.address, node.name),
                "choose a network that the machines do not use; otherwise traffic between them is routed \
                    into the overlay",
            ));
        }
    }
    Ok(())
}

/// Whether a network with so many bits for hosts has room for so many containers on each node.
fn has_room(host_bits: u32, nodes: usize, containers: usize) -> bool {
    // The network's own address, the broadcast, the gateway, and one more that swarm takes on every machine.
    let needed = 3 + (containers as u128 + 1) * nodes as u128;
    host_bits >= 64 || (1_u128 << host_bits) >= needed
}

/// Whether a subnet that [`subnet`] accepted has room for a second container on each node.
pub(crate) fn fits_two_each(subnet: &str, nodes: usize) -> bool {
    let parts = subnet.split_once('/');
    let parts = parts.and_then(|(ip, length)| Some((ip.parse().ok()?, length.parse::<u32>().ok()?)));
    parts.is_some_and(|(ip, length): (IpAddr, u32)| {
        let (_, bits) = number(ip);
        bits.checked_sub(length).is_some_and(|host_bits| has_room(host_bits, nodes, 2))
    })
}

/// An address as a number, and its bits.
fn number(ip: IpAddr) -> (u128, u32) {
    match ip {
        IpAddr::V4(ip) => (u128::from(u32::from(ip)), 32),
        IpAddr::V6(ip) => (u128::from(ip), 128),
    }
}

fn back(number: u128, bits: u32) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if bits == 32 => IpAddr::V4(number.into()),
        _ => IpAddr::V6(number.into()),
    }
}
