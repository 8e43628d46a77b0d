//! Network interfaces, routes, names and firewall.

use super::Fact;
use crate::host::Host;

/// The network of this machine (or of the container that envdoc runs in).
#[derive(Debug, Clone)]
pub struct Network {
    /// Interfaces in index order: `/sys/class/net/*`, `/proc/net/if_inet6`, `/proc/net/fib_trie`, `/proc/net/route`.
    pub interfaces: Fact<Vec<Interface>>,
    /// Interface of the default route (IPv4): `/proc/net/route`. Absent when there is none.
    pub default_route: Fact<String>,
    /// The machine's own name: `/proc/sys/kernel/hostname`.
    pub hostname: Fact<String>,
    /// Addresses that `/etc/hosts` gives to that name; absent when it does not name it (then DNS decides).
    pub hostname_in_hosts: Fact<Vec<String>>,
    /// Name servers: `/etc/resolv.conf`.
    pub name_servers: Fact<Vec<String>>,
    /// The firewall that is active and the file that shows it: `ufw`, `firewalld`, `nftables`; absent when none is seen.
    pub firewall: Fact<Firewall>,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// `up`, `down`, `unknown`: `operstate`.
    pub state: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Speed in Mbit/s; absent when the driver does not say (virtual ones, links that are down).
    pub speed: Fact<u32>,
    /// IPv4 addresses with prefix length, `10.0.18.1/24`.
    pub ipv4: Vec<String>,
    /// IPv6 addresses with prefix length.
    pub ipv6: Vec<String>,
    /// Whether a device stands behind it (link `device`): neither bridge, veth, nor tunnel.
    pub physical: bool,
    /// `loopback`, `ethernet`, `infiniband` or the number: `type`.
    pub kind: String,
    /// What it is enslaved to (bond, bridge).
    pub master: Option<String>,
}

/// An active firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firewall {
    /// `ufw`, `firewalld`, `nftables`.
    pub name: String,
    /// Ports it is known to let in (`2377/tcp`); absent when the rules cannot be read.
    pub allowed: Fact<Vec<String>>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Network {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Network {
        interfaces: Fact::Unknown(unknown()),
        default_route: Fact::Unknown(unknown()),
        hostname: Fact::Unknown(unknown()),
        hostname_in_hosts: Fact::Unknown(unknown()),
        name_servers: Fact::Unknown(unknown()),
        firewall: Fact::Unknown(unknown()),
    }
}
