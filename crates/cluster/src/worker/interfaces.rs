//! Network interfaces, and which one leads to an address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

use super::{Answer, Failure, Interface, Why, machine, tcp};

/// The kernel's IPv4 routes.
const ROUTES: &str = "/proc/net/route";
/// The kernel's table of neighbours.
const NEIGHBOURS: &str = "/proc/net/arp";

pub(crate) fn all() -> Result<Vec<Interface>, Failure> {
    let found = nix::ifaddrs::getifaddrs()
        .map_err(|error| Failure { why: Why::Other, message: format!("interfaces: {error}") })?;
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

/// Networks that are routed, without the default route.
pub(super) fn routes() -> Result<Answer, Failure> {
    let table = machine::text(ROUTES)
        .ok_or_else(|| Failure { why: Why::NotFound, message: format!("cannot read {ROUTES}") })?;
    let routes = facts::network::routes(&table).into_iter().filter(|route| route.prefix > 0);
    Ok(Answer::Routes { networks: routes.map(|route| (route.network(), route.interface)).collect() })
}

/// Looks into the kernel's table of IPv4 neighbours.
pub(super) fn neighbour(address: IpAddr) -> Result<Answer, Failure> {
    let table = machine::text(NEIGHBOURS)
        .ok_or_else(|| Failure { why: Why::NotFound, message: format!("cannot read {NEIGHBOURS}") })?;
    if address.is_ipv6() {
        return Err(Failure { why: Why::Other, message: format!("{NEIGHBOURS} has no IPv6 addresses") });
    }
    Ok(Answer::Neighbour { hardware: hardware(&table, address) })
}

/// Lines after the first: IP address, HW type, Flags, HW address, Mask, Device. A flag of 2 (ATF_COM) means
/// that it was found out.
fn hardware(table: &str, address: IpAddr) -> Option<String> {
    let wanted = address.to_string();
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [own, _kind, flags, hardware, ..] = words[..] else { return None };
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        (own == wanted && flags & 2 != 0).then(|| hardware.to_owned())
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
    fn neighbours_that_answered_and_that_did_not() {
        // Of a container whose engine had no entry of the second address (tests/lab/cases/226).
        let table = "IP address       HW type     Flags       HW address            Mask     Device
10.0.1.10        0x1         0x2         02:42:0a:00:01:0a     *        eth0
10.0.1.6         0x1         0x0         00:00:00:00:00:00     *        eth0
";
        let of = |address: &str| hardware(table, address.parse().unwrap());
        assert_eq!(of("10.0.1.10").as_deref(), Some("02:42:0a:00:01:0a"));
        assert_eq!(of("10.0.1.6"), None);
        assert_eq!(of("10.0.1.1"), None);
    }

    #[test]
    fn finds_loopback_interface_and_its_route() {
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
