//! Addresses and routes of `/proc/net`.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 address with its prefix length, as `a.b.c.d/n`.
pub type Address = String;

/// One route of `/proc/net/route` that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// `eth0`.
    pub interface: String,
    /// First address of the destination.
    pub destination: u32,
    /// Length of its prefix; 0 is the default route.
    pub prefix: u32,
    /// Without a gateway: the network is on the link.
    pub connected: bool,
    /// Lower is preferred.
    pub metric: u32,
}

impl Route {
    /// The destination as `10.0.18.0/24`.
    pub fn network(&self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.destination), self.prefix)
    }

    fn holds(&self, address: u32) -> bool {
        let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
        address & mask == self.destination & mask
    }
}

/// Numbers are hexadecimal in the byte order of the machine, which is little endian on all that have NVIDIA
/// GPUs:
///
/// ```text
/// Iface  Destination  Gateway   Flags  RefCnt  Use  Metric  Mask      MTU  Window  IRTT
/// eth0   00000000     010200C0  0003   0       0    0       00000000  0    0       0
/// eth0   000200C0     00000000  0001   0       0    0       00FFFFFF  0    0       0
/// ```
pub fn routes(text: &str) -> Vec<Route> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| Some(u32::from_str_radix(fields.get(at)?, 16).ok()?.swap_bytes());
            let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
            // RTF_UP, and not RTF_REJECT: a route that refuses.
            (flags & 0x1 != 0 && flags & 0x200 == 0).then_some(())?;
            let prefix = number(7)?.leading_ones();
            Some(Route {
                interface: fields.first()?.to_string(),
                destination: number(1)?,
                prefix,
                // RTF_GATEWAY
                connected: flags & 0x2 == 0 && prefix > 0,
                metric: fields.get(6)?.parse().ok()?,
            })
        })
        .collect()
}

/// The machine's own addresses: leaves of the tries that are `/32 host LOCAL`.
///
/// ```text
///      +-- 192.0.2.0/24 2 0 2
///         +-- 192.0.2.0/30 2 0 2
///            |-- 192.0.2.0
///               /24 link UNICAST
///            |-- 192.0.2.2
///               /32 host LOCAL
/// ```
pub(super) fn local(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut leaf = None;
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            // Table local follows table main with the same entries where they share a trie.
            found.extend(leaf.map(u32::from).filter(|address| !found.contains(address)));
        }
    }
    found
}

/// The addresses that only this interface's networks hold.
pub(super) fn of_interface(name: &str, routes: &[Route], local: &[u32]) -> Vec<Address> {
    let mut found = Vec::new();
    for &address in local {
        if name == "lo" && address >> 24 == 127 {
            found.push(format!("{}/8", Ipv4Addr::from(address)));
            continue;
        }
        let holding = || routes.iter().filter(|route| route.connected && route.holds(address));
        let Some(longest) = holding().map(|route| route.prefix).max() else { continue };
        let mut of = holding().filter(|route| route.prefix == longest);
        if of.clone().all(|route| route.interface == name) && of.next().is_some() {
            found.push(format!("{}/{longest}", Ipv4Addr::from(address)));
        }
    }
    found
}

/// Interface and address with prefix length:
///
/// ```text
/// 00000000000000000000000000000001 01 80 10 80       lo
/// fe8000000000000000fc00fffe000001 04 40 20 80     eth0
/// ```
pub(super) fn ipv6(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let address = Ipv6Addr::from(u128::from_str_radix(fields.first()?, 16).ok()?);
            let prefix = u32::from_str_radix(fields.get(2)?, 16).ok()?;
            Some((fields.get(5)?.to_string(), format!("{address}/{prefix}")))
        })
        .collect()
}
