//! Network interfaces, routes, names and firewall.

mod addresses;
mod firewall;
mod peers;

use super::Fact;
use crate::IntoFact;
use crate::values::values;
use host::{Host, Missing, MissingKind, Reading};

pub use addresses::{Address, Route, routes};

/// The network of this machine (or of the container that envdoc runs in).
#[derive(Debug, Clone)]
pub struct Network {
    /// Interfaces in index order: `/sys/class/net/*`, `/proc/net/if_inet6`, `/proc/net/fib_trie`,
    /// `/proc/net/route`.
    pub interfaces: Fact<Vec<Interface>>,
    /// Interface of the default route (IPv4) with the lowest metric: `/proc/net/route`. Absent when there is
    /// none.
    pub default_route: Fact<String>,
    /// The machine's own name: `/proc/sys/kernel/hostname`.
    pub hostname: Fact<String>,
    /// Addresses that `/etc/hosts` gives to that name; absent when it does not name it (then DNS decides).
    pub hostname_in_hosts: Fact<Vec<String>>,
    /// Name servers: `/etc/resolv.conf`.
    pub name_servers: Fact<Vec<String>>,
    /// Names of `/etc/nsswitch.conf`'s line `hosts`, in order: `files`, `dns`, `myhostname`, …; absent
    /// without such a line.
    pub name_services: Fact<Vec<String>>,
    /// The firewall that is active as its files show it: `ufw` or `firewalld`; absent when neither is. Rules
    /// that are loaded by other means are not seen.
    pub firewall: Fact<Firewall>,
}

values! {
    /// `/sys/class/net/*/type`, by the names of its numbers; source: include/uapi/linux/if_arp.h.
    InterfaceKind {
        Ethernet = "ethernet",
        Infiniband = "infiniband",
        Loopback = "loopback",
        Unknown = "unknown",
    }
}

values! {
    /// `/sys/class/net/*/operstate`; source: net/core/net-sysfs.c.
    OperState {
        Unknown = "unknown",
        NotPresent = "notpresent",
        Down = "down",
        LowerLayerDown = "lowerlayerdown",
        Testing = "testing",
        Dormant = "dormant",
        Up = "up",
    }
}

/// A network interface of `/sys/class/net`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// `eth0`.
    pub name: String,
    /// `operstate`; `unknown` too where there is no such file.
    pub state: OperState,
    /// MTU in bytes.
    pub mtu: u32,
    /// Speed in Mbit/s; absent when the driver does not say (virtual ones, links that are down).
    pub speed: Fact<u32>,
    /// IPv4 addresses with prefix length, `10.0.18.1/24`. `/proc` has addresses in one list and interfaces in
    /// another (the routes to connected networks): an address whose network two interfaces share cannot be
    /// assigned to either, and is in neither list. Unknown when `/proc/net` could not be read.
    pub ipv4: Fact<Vec<String>>,
    /// Networks that it is connected to, `10.0.18.0/24`: routes of the main table without a gateway. Unknown
    /// when `/proc/net/route` could not be read.
    pub networks: Fact<Vec<String>>,
    /// IPv6 addresses with prefix length.
    pub ipv6: Vec<String>,
    /// Whether a device stands behind it (link `device`): neither bridge, veth, nor tunnel.
    pub physical: bool,
    /// What the kernel calls its `type`.
    pub kind: InterfaceKind,
    /// What it is enslaved to (bond, bridge).
    pub master: Option<String>,
}

impl Interface {
    /// Whether it carries IPv4: an address, or a network that it is connected to.
    pub fn has_ipv4(&self) -> Fact<bool> {
        let some = |list: &Fact<Vec<String>>| {
            list.as_ref().and_then(|list| if list.is_empty() { Fact::Absent } else { Fact::Known(true) })
        };
        some(&self.networks).or_look(|| some(&self.ipv4)).absent_as(false)
    }
}

/// An active firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firewall {
    /// `ufw`, `firewalld`.
    pub name: String,
    /// What it lets in: `2377/tcp`, `7946/any`, `any/any` (everything), ranges as `9000:9100/tcp`; unknown
    /// when the rules cannot be read. A rule for some senders only counts: those are the ones it was made
    /// for.
    pub allowed: Fact<Vec<String>>,
}

const CLASS: &str = "/sys/class/net";

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Network {
    let routes =
        host.read("/proc/net/route").text().must_exist("/proc/net/route").map(|t| addresses::routes(&t));
    let local =
        host.read("/proc/net/fib_trie").text().must_exist("/proc/net/fib_trie").map(|t| addresses::local(&t));
    // Absent where IPv6 is off.
    let ipv6 = host.read("/proc/net/if_inet6").text().map(|text| addresses::ipv6(&text));
    let ipv6 = ipv6.absent_as(Vec::new());
    let interfaces = host.list(CLASS).lines().must_exist(CLASS).and_then(|names| {
        let mut interfaces: Vec<(u32, Interface)> = Vec::new();
        for name in names {
            match ipv6.as_ref().and_then(|ipv6| interface(host, &name, &routes, &local, ipv6)) {
                Fact::Known(found) => interfaces.push(found),
                Fact::Absent => {}
                Fact::Unknown(why) => return Fact::Unknown(why),
            }
        }
        interfaces.sort_by_key(|(index, _)| *index);
        Fact::Known(interfaces.into_iter().map(|(_, interface)| interface).collect())
    });
    let hostname = line(host, "/proc/sys/kernel/hostname").must_exist("/proc/sys/kernel/hostname");
    let hosts = host.read("/etc/hosts").text();
    Network {
        interfaces,
        default_route: routes.as_ref().and_then(|routes| {
            let default = routes.iter().filter(|route| route.prefix == 0).min_by_key(|route| route.metric);
            default.map_or(Fact::Absent, |route| Fact::Known(route.interface.clone()))
        }),
        hostname_in_hosts: hostname.as_ref().and_then(|name| {
            hosts.as_ref().and_then(|text| match in_hosts(text, name) {
                addresses if addresses.is_empty() => Fact::Absent,
                addresses => Fact::Known(addresses),
            })
        }),
        hostname,
        name_servers: host.read("/etc/resolv.conf").text().map(|text| name_servers(&text)),
        name_services: host.read("/etc/nsswitch.conf").text().and_then(|text| name_services(&text)),
        firewall: firewall::gather(host),
    }
}

fn line(host: &dyn Host, path: &str) -> Fact<String> {
    host.read(path).text().map(|text| text.trim().to_owned())
}

/// One interface and its index. What is no interface (the file `bonding_masters`) has no index.
fn interface(
    host: &dyn Host,
    name: &str,
    routes: &Fact<Vec<Route>>,
    local: &Fact<Vec<u32>>,
    ipv6: &[(String, String)],
) -> Fact<(u32, Interface)> {
    let link = match link(host, &format!("{CLASS}/{name}")) {
        Ok(Some(link)) => link,
        Ok(None) => return Fact::Absent,
        Err(why) => return Fact::Unknown(why.about(name)),
    };
    let connected = |route: &&Route| route.interface == name && route.connected;
    let interface = Interface {
        state: link.state,
        mtu: link.mtu,
        speed: link.speed,
        ipv4: routes
            .as_ref()
            .and_then(|routes| local.as_ref().map(|local| addresses::of_interface(name, routes, local))),
        networks: routes.as_ref().map(|routes| routes.iter().filter(connected).map(Route::network).collect()),
        ipv6: ipv6.iter().filter(|(of, _)| of == name).map(|(_, address)| address.clone()).collect(),
        physical: link.physical,
        kind: link.kind,
        master: link.master,
        name: name.to_owned(),
    };
    Fact::Known((link.index, interface))
}

/// What the files of an interface's directory hold.
struct Link {
    index: u32,
    mtu: u32,
    physical: bool,
    state: OperState,
    kind: InterfaceKind,
    master: Option<String>,
    speed: Fact<u32>,
}

/// `None` for what is no interface, or was taken down since the list was made.
fn link(host: &dyn Host, dir: &str) -> Result<Option<Link>, Missing> {
    let file = |name: &str| format!("{dir}/{name}");
    let physical = host.stat(&file("device")).text().decided()?.is_some();
    let (Some(index), Some(mtu)) =
        (number(host, &file("ifindex")).decided()?.copied(), number(host, &file("mtu")).decided()?.copied())
    else {
        return Ok(None);
    };
    let state = line(host, &file("operstate")).about("operstate");
    let kind = line(host, &file("type")).about("type");
    let master = host.stat(&file("master")).json::<host::Stat>().about("master");
    let kind = match kind.decided()?.map(String::as_str) {
        Some("1") => InterfaceKind::Ethernet,
        Some("32") => InterfaceKind::Infiniband,
        Some("772") => InterfaceKind::Loopback,
        Some(number) => InterfaceKind::Other(number.to_owned()),
        None => InterfaceKind::Unknown,
    };
    let master = master.decided()?.and_then(|stat| stat.path.rsplit_once('/'));
    Ok(Some(Link {
        index,
        mtu,
        physical,
        state: state.decided()?.map_or(OperState::Unknown, |word| word.as_str().into()),
        kind,
        master: master.map(|(_, name)| name.to_owned()),
        speed: if physical { speed(host.read(&file("speed"))) } else { Fact::Absent },
    }))
}

fn number(host: &dyn Host, path: &str) -> Fact<u32> {
    line(host, path).and_then(|text| {
        text.parse()
            .map_or_else(|_| Fact::unknown(format!("{path} holds {text:?}, not a number")), Fact::Known)
    })
}

/// `errno`: invalid argument.
const EINVAL: i32 = 22;

/// Mbit/s. A link that is down answers "Invalid argument" or -1.
fn speed(reading: Reading) -> Fact<u32> {
    match reading {
        Reading::Failed(why) if why.kind == MissingKind::Os(EINVAL) => Fact::Absent,
        reading => reading.text().and_then(|text| match text.trim().parse::<i64>() {
            Ok(speed) => u32::try_from(speed).map_or(Fact::Absent, Fact::Known),
            Err(_) => Fact::Absent,
        }),
    }
}

/// `127.0.1.1 node1.example.org node1 # comment`: names are compared without regard to case.
pub(crate) fn in_hosts(text: &str, name: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split('#').next()?.split_whitespace();
            let address = words.next()?;
            words.any(|word| word.eq_ignore_ascii_case(name)).then(|| address.to_owned())
        })
        .collect()
}

/// Lines `nameserver ADDRESS`; `#` and `;` begin comments.
pub fn name_servers(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(['#', ';']).next()?.split_whitespace();
            (words.next()? == "nameserver").then(|| words.next().map(str::to_owned))?
        })
        .collect()
}

/// `hosts:          files mdns4_minimal [NOTFOUND=return] dns myhostname`
fn name_services(text: &str) -> Fact<Vec<String>> {
    let rest = text.lines().find_map(|line| line.split('#').next()?.trim().strip_prefix("hosts:"));
    rest.map_or(Fact::Absent, |rest| {
        Fact::Known(
            rest.split_whitespace().filter(|word| !word.starts_with('[')).map(str::to_owned).collect(),
        )
    })
}

#[cfg(test)]
mod tests;
