//! Network interfaces, and which one leads to an address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

use super::{Answer, Failure, Interface, Why, machine, tcp};

pub(super) fn all() -> Result<Vec<Interface>, Failure> {
    let found = nix::ifaddrs::getifaddrs()
        .map_err(|error| Failure { why: Why::Other, says: format!("interfaces: {error}") })?;
    let mut interfaces: BTreeMap<String, Interface> = BTreeMap::new();
    for entry in found {
        let running = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let interface = interfaces.entry(entry.interface_name.clone()).or_insert_with(|| Interface {
            addresses: Vec::new(),
            mtu: machine::line(&format!("/sys/class/net/{}/mtu", entry.interface_name))
                .and_then(|text| text.parse().ok()),
            speed: speed(&entry.interface_name),
            up: entry.flags.contains(running),
            loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            name: entry.interface_name,
        });
        if let Some(address) = entry.address.as_ref().and_then(ip) {
            let prefix = entry.netmask.as_ref().and_then(ip).map_or_else(|| bits(&address), ones);
            interface.addresses.push((address, prefix));
        }
    }
    Ok(interfaces.into_values().collect())
}

/// What is only software tells a speed too, which means nothing.
fn speed(name: &str) -> Option<u32> {
    machine::line(&format!("/sys/class/net/{name}/device/uevent"))?;
    machine::line(&format!("/sys/class/net/{name}/speed"))?.parse().ok()
}

/// Asks the kernel's routes: nothing is sent.
pub(super) fn route(address: IpAddr) -> Result<Answer, Failure> {
    let any: SocketAddr = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).map_err(|error| tcp::failure(&error))?;
    // Any port: that of the discard protocol.
    socket.connect((address, 9)).map_err(|error| tcp::failure(&error))?;
    let source = socket.local_addr().map_err(|error| tcp::failure(&error))?.ip();
    let has = |interface: &Interface| interface.addresses.iter().any(|(own, _)| *own == source);
    let interface = all()?.into_iter().find(has);
    Ok(Answer::Route {
        source,
        mtu: interface.as_ref().and_then(|interface| interface.mtu),
        interface: interface.map(|interface| interface.name),
    })
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    if let Some(address) = address.as_sockaddr_in() {
        return Some(address.ip().into());
    }
    address.as_sockaddr_in6().map(|address| address.ip().into())
}

fn bits(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones(),
        IpAddr::V6(mask) => mask.to_bits().count_ones(),
    };
    u8::try_from(ones).unwrap_or(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there_and_leads_to_itself() {
        let interfaces = all().unwrap();
        let lo = interfaces.iter().find(|interface| interface.loopback).unwrap();
        assert!(lo.addresses.contains(&(Ipv4Addr::LOCALHOST.into(), 8)), "{lo:?}");
        assert!(lo.mtu.is_some_and(|mtu| mtu > 1000));
        let Answer::Route { source, interface, .. } = route(Ipv4Addr::LOCALHOST.into()).unwrap() else {
            panic!("no route")
        };
        assert_eq!((source, interface), (Ipv4Addr::LOCALHOST.into(), Some(lo.name.clone())));
    }
}
