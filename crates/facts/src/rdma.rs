//! InfiniBand and RoCE adapters.

use super::Fact;
use crate::IntoFact;
use crate::values::values;
use host::{Host, Reading, Stat};

#[derive(Debug, Clone)]
pub struct Rdma {
    /// One entry a device: `/sys/class/infiniband/*`. `Known(vec![])` where there is none.
    pub devices: Fact<Vec<RdmaDevice>>,
    /// `/dev/infiniband/uverbs*`: names; absent when the directory is not there.
    pub verbs_nodes: Fact<Vec<String>>,
}

impl Rdma {
    /// Whether the active ports look like a network for jobs over several nodes: InfiniBand, or four RoCE
    /// ports and more. One or two with Ethernet are what every server with a ConnectX card has as its
    /// ordinary network, and virtual machines of clouds.
    pub fn fabric(&self) -> Fact<bool> {
        self.devices.as_ref().and_then(|devices| {
            let active = |layer: LinkLayer| {
                let has = |port: &RdmaPort| port.state == PortState::Active && port.link_layer == layer;
                devices.iter().filter(|device| device.ports().any(has)).count()
            };
            if active(LinkLayer::InfiniBand) > 0 || active(LinkLayer::Ethernet) >= 4 {
                return Fact::Known(true);
            }
            let unread = |device: &RdmaDevice| Some(device.ports.decided().err()?.about(&device.name));
            devices.iter().find_map(unread).map_or(Fact::Known(false), Fact::Unknown)
        })
    }
}

/// A device of `/sys/class/infiniband`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaDevice {
    /// `mlx5_0`.
    pub name: String,
    pub firmware: Fact<String>,
    /// `MT4129`, where the driver says it.
    pub kind: Fact<String>,
    /// Its ports; unknown when one of their files could not be read.
    pub ports: Fact<Vec<RdmaPort>>,
    /// The card that it is a port of: its PCI address without the function, `0000:18:00`. Absent for devices
    /// without one (soft RoCE).
    pub card: Fact<String>,
    /// Network interfaces of the same PCI function (`device/net/*`).
    pub interfaces: Fact<Vec<String>>,
}

impl RdmaDevice {
    /// The ports; nothing when they could not be read.
    pub fn ports(&self) -> impl Iterator<Item = &RdmaPort> {
        self.ports.known().into_iter().flatten()
    }
}

values! {
    /// `/sys/class/infiniband/*/ports/*/link_layer`; source: drivers/infiniband/core/sysfs.c.
    LinkLayer {
        InfiniBand = "InfiniBand",
        // RoCE.
        Ethernet = "Ethernet",
        Unspecified = "Unspecified",
        Unknown = "Unknown",
    }
}

values! {
    /// `/sys/class/infiniband/*/ports/*/state`, its word; source: drivers/infiniband/core/sysfs.c.
    PortState {
        Nop = "NOP",
        Down = "DOWN",
        Init = "INIT",
        Armed = "ARMED",
        Active = "ACTIVE",
        ActiveDefer = "ACTIVE_DEFER",
    }
}

values! {
    /// `/sys/class/infiniband/*/ports/*/phys_state`, its word; source: drivers/infiniband/core/sysfs.c.
    PhysicalState {
        Sleep = "Sleep",
        Polling = "Polling",
        Disabled = "Disabled",
        Training = "PortConfigurationTraining",
        LinkUp = "LinkUp",
        LinkErrorRecovery = "LinkErrorRecovery",
        PhyTest = "Phy Test",
    }
}

/// A port of an RDMA device, from its directory in `/sys/class/infiniband`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaPort {
    /// Its number, from 1.
    pub number: u32,
    /// `InfiniBand` or `Ethernet` (RoCE).
    pub link_layer: LinkLayer,
    /// `ACTIVE`, `DOWN`, `INIT`, `ARMED`.
    pub state: PortState,
    /// `LinkUp`, `Disabled`, `Polling`, …
    pub physical_state: PhysicalState,
    /// Rate in Mbit/s: `400 Gb/sec (4X NDR)` is 400000, `2.5 Gb/sec (1X SDR)` 2500.
    pub rate: Fact<u32>,
}

const CLASS: &str = "/sys/class/infiniband";

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Rdma {
    let devices = host.list(CLASS).lines().absent_as(Vec::new()).about(CLASS);
    Rdma {
        devices: devices.map(|names| names.iter().map(|name| device(host, name)).collect()),
        verbs_nodes: host.find("/dev/infiniband", &["uverbs"]).lines().about("/dev/infiniband"),
    }
}

fn line(host: &dyn Host, path: &str) -> Fact<String> {
    host.read(path).text().map(|text| text.trim().to_owned()).about(path)
}

fn device(host: &dyn Host, name: &str) -> RdmaDevice {
    let dir = format!("{CLASS}/{name}");
    let numbers = host.list(&format!("{dir}/ports")).lines().must_exist(&format!("{dir}/ports"));
    let ports = numbers.and_then(|numbers| {
        let mut ports = Vec::new();
        for number in numbers {
            match port(host, &format!("{dir}/ports/{number}"), &number) {
                Fact::Known(port) => ports.push(port),
                Fact::Absent => {}
                Fact::Unknown(why) => return Fact::Unknown(why),
            }
        }
        Fact::Known(ports)
    });
    let function = format!("{dir}/device");
    let interfaces = format!("{dir}/device/net");
    RdmaDevice {
        name: name.to_owned(),
        firmware: line(host, &format!("{dir}/fw_ver")),
        kind: line(host, &format!("{dir}/hca_type")),
        ports,
        card: host.stat(&function).json::<Stat>().and_then(|stat| card(&stat.path)).about(&function),
        interfaces: host.list(&interfaces).lines().absent_as(Vec::new()).about(&interfaces),
    }
}

/// `/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.1`: `0000:18:00`.
fn card(path: &str) -> Fact<String> {
    match path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
        Some((card, function)) if card.matches(':').count() == 2 && function.len() == 1 => {
            Fact::Known(card.to_owned())
        }
        _ => Fact::Absent,
    }
}

fn port(host: &dyn Host, dir: &str, number: &str) -> Fact<RdmaPort> {
    let Ok(number) = number.parse() else { return Fact::Absent };
    let state = line(host, &format!("{dir}/state")).must_exist("the port's state");
    let physical = line(host, &format!("{dir}/phys_state")).must_exist("the port's physical state");
    // Kernels before 2.6.37 have no link_layer; all their ports are InfiniBand.
    let layer = line(host, &format!("{dir}/link_layer")).absent_as("InfiniBand".into());
    layer.and_then(|link_layer| {
        state.and_then(|state| {
            physical.map(|physical| RdmaPort {
                number,
                link_layer: link_layer.as_str().into(),
                state: after_number(&state).into(),
                physical_state: after_number(&physical).into(),
                rate: rate(host.read(&format!("{dir}/rate"))),
            })
        })
    })
}

/// `4: ACTIVE`, `5: LinkUp`.
fn after_number(text: &str) -> &str {
    text.split_once(':').map_or(text, |(_, name)| name).trim()
}

/// `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`. A driver that cannot tell refuses the reading.
fn rate(reading: Reading) -> Fact<u32> {
    reading.text().and_then(|text| {
        let number = text.split_once(" Gb/sec").map(|(number, _)| number.trim());
        let megabits = number.and_then(|number| {
            let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
            let tenths = tenths.get(..1)?.parse::<u32>().ok()?;
            whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(tenths * 100)
        });
        megabits.map_or_else(|| Fact::unknown(format!("{:?} is not a rate", text.trim())), Fact::Known)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::testing::Sparse;
    use host::Ask;
    use host::record::Replay;

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/rdma");

    /// A file tree: what is not in it is absent, lists come from the paths.
    struct Tree(BTreeMap<String, String>);
    impl Host for Tree {
        fn ask(&self, ask: Ask<'_>) -> Reading {
            match ask {
                Ask::Read(path) => self.0.get(path).cloned().map_or(Reading::Absent, Reading::Text),
                Ask::List(dir) => {
                    let below = |path: &String| {
                        Some(path.strip_prefix(dir)?.strip_prefix('/')?.split('/').next()?.to_owned())
                    };
                    let names: BTreeSet<String> = self.0.keys().filter_map(below).collect();
                    if names.is_empty() {
                        Reading::Absent
                    } else {
                        Reading::Text(names.into_iter().collect::<Vec<_>>().join("\n"))
                    }
                }
                _ => Reading::Absent,
            }
        }
    }

    /// The trees name devices below `/sys/class/infiniband` or below their PCI function.
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn tree(name: &str) -> Tree {
        let text = std::fs::read_to_string(format!("{CORPUS}/{name}")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut files = BTreeMap::new();
        for (path, text) in value.as_object().unwrap() {
            if let (Some((_, below)), Some(text)) = (path.split_once("/infiniband/"), text.as_str()) {
                files.insert(format!("{CLASS}/{below}"), text.to_owned());
            }
        }
        Tree(files)
    }

    /// Device, link layer, state, physical state, rate of the first port.
    fn summary(name: &str) -> Vec<(String, LinkLayer, PortState, PhysicalState, Option<u32>)> {
        let devices = gather(&tree(name)).devices;
        let devices = devices.known().unwrap().clone();
        devices
            .into_iter()
            .map(|device| {
                let port = device.ports().next().unwrap_or_else(|| panic!("{name}: {device:?}")).clone();
                (device.name, port.link_layer, port.state, port.physical_state, port.rate.known().copied())
            })
            .collect()
    }

    #[test]
    fn every_tree_of_the_corpus_is_read() {
        let h100 = summary("sys-class-infiniband-h100-12-hca.json");
        assert_eq!(h100.len(), 9);
        assert!(
            h100.iter().all(|port| port.2 == PortState::Active && port.3 == PhysicalState::LinkUp),
            "{h100:?}"
        );
        assert!(h100.iter().any(|port| port.4 == Some(400_000)), "{h100:?}");
        let mixed = summary("sys-class-infiniband-procfs-mlx4-hfi1-mlx5.json");
        let names: Vec<&str> = mixed.iter().map(|port| port.0.as_str()).collect();
        assert_eq!(names, ["hfi1_0", "mlx4_0", "mlx5_0"]);
        for (name, device, state, rate) in [
            ("node-sysfs-learn-good.json", "mlx5_8", PortState::Active, 200_000),
            ("node-sysfs-learn-ib-intf-bad-rate.json", "mlx5_8", PortState::Active, 100_000),
            ("node-sysfs-learn-stuck-ib-intf.json", "mlx5_8", PortState::Init, 200_000),
        ] {
            let found = summary(name);
            let port =
                found.iter().find(|port| port.0 == device).unwrap_or_else(|| panic!("{name}: {found:?}"));
            assert_eq!((&port.2, port.4), (&state, Some(rate)), "{name}");
        }
        assert!(
            summary("node-sysfs-learn-ib-intf-operstate-down.json").iter().any(|port| port.0 == "mlx5_2")
        );
    }

    #[test]
    fn distinguishes_no_rdma_devices_from_unreadable_sysfs() {
        assert_eq!(gather(&Tree(BTreeMap::new())).devices, Fact::Known(vec![]));
        assert_eq!(gather(&Tree(BTreeMap::new())).verbs_nodes, Fact::Absent);
        let failing = gather(&Replay::new(BTreeMap::new(), "not in this snapshot"));
        assert!(
            matches!(failing.devices, Fact::Unknown(_)) && matches!(failing.verbs_nodes, Fact::Unknown(_))
        );
    }

    #[test]
    fn card_and_interfaces_that_cannot_be_read_are_unknown() {
        let device = "/sys/class/infiniband/mlx5_0/device";
        let (stat, list) = (format!("stat {device}"), format!("list {device}/net"));
        let host = Sparse::new(&[("list /sys/class/infiniband", "mlx5_0")]);
        let of = |host: Sparse| gather(&host).devices.known().unwrap()[0].clone();
        let absent = of(host.clone());
        assert_eq!((absent.card, absent.interfaces), (Fact::Absent, Fact::Known(vec![])));
        let unread = of(host.failing(&[(&stat, "permission denied"), (&list, "permission denied")]));
        assert_eq!(unread.card, Fact::unknown(format!("{device}: permission denied")));
        assert_eq!(unread.interfaces, Fact::unknown(format!("{device}/net: permission denied")));
    }

    #[test]
    fn unreadable_ports_leave_open_whether_there_is_a_fabric() {
        let host = Sparse::new(&[("list /sys/class/infiniband", "mlx5_0")]);
        let ports = "list /sys/class/infiniband/mlx5_0/ports";
        let rdma = gather(&host.failing(&[(ports, "permission denied")]));
        assert_eq!(rdma.fabric(), Fact::unknown("mlx5_0: permission denied"));
    }

    #[test]
    fn rates_are_read() {
        let rate = |text: &str| rate(Reading::Text(text.into()));
        assert_eq!(rate("400 Gb/sec (4X NDR)\n"), Fact::Known(400_000));
        assert_eq!(rate("2.5 Gb/sec (1X SDR)\n"), Fact::Known(2500));
        for odd in ["fast\n", "4294967295 Gb/sec"] {
            assert!(matches!(rate(odd), Fact::Unknown(_)), "{odd}");
        }
    }
}
