//! Interfaces that do the same work have different MTUs.

use diagnostic::shell;
use std::fmt;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::network::{Interface, OperState};
use facts::rdma::{LinkLayer, PortState};

pub(super) const CHECK: Check = Check {
    id: "mtu-differs",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "interfaces on the same network have the same MTU",
    explain: include_str!("mtu_differs.md"),
    judge,
};

/// What interfaces have in common that should have one MTU.
#[derive(Debug, PartialEq, Eq)]
enum Common {
    /// Gbit/s.
    RoceSpeed(u32),
    Network(String),
}

impl fmt::Display for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Common::RoceSpeed(speed) => write!(f, "RoCE at {speed} Gbit/s"),
            Common::Network(network) => write!(f, "network {network}"),
        }
    }
}

fn judge(facts: &Facts) -> Judged {
    let interfaces = facts.network.interfaces.require("no network interfaces")?;
    let up: Vec<&Interface> = interfaces.iter().filter(|i| i.physical && i.state == OperState::Up).collect();
    if up.len() < 2 {
        return Err(Verdict::NotApplicable("fewer than two physical interfaces are up".into()));
    }
    let (rails, networks) = (rails(facts, &up), networks(&up));
    // Two ports of one speed may be a front and a storage network; one among many is a rail that was
    // forgotten.
    let odd = |members: &[&Interface]| {
        let most = members.iter().map(|i| i.mtu).max().unwrap_or(0);
        members.len() > 2 && members.iter().filter(|i| i.mtu < most).count() == 1
    };
    let differing = [&rails, &networks].into_iter().flatten().flatten().find(|(of, members)| match of {
        Common::RoceSpeed(_) => odd(members),
        Common::Network(_) => members.iter().any(|i| i.mtu != members[0].mtu),
    });
    if let Some((of, members)) = differing {
        return Ok(finding(of, members));
    }
    rails.and(networks).map(|_| Verdict::Pass)
}

fn finding(of: &Common, members: &[&Interface]) -> Verdict {
    let most = members.iter().map(|interface| interface.mtu).max().unwrap_or(0);
    let small: Vec<&&Interface> = members.iter().filter(|interface| interface.mtu < most).collect();
    let names: Vec<&str> = small.iter().map(|interface| interface.name.as_str()).collect();
    let message = format!(
        "{of}: {} {} MTU {} but the others have {most}; large messages may be lost or slow",
        names.join(", "),
        if names.len() == 1 { "has" } else { "have" },
        small[0].mtu
    );
    let commands: Vec<String> =
        names.iter().map(|name| format!("sudo ip link set dev {} mtu {most}", shell::word(name))).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = "If the switch supports it, set the MTU (and make it permanent in the network configuration):";
    let mut verdict = Verdict::warning(message, Fix::restarts_service(text, &commands))
        .about(Subject::name(names.join(", ")));
    for member in members {
        verdict = verdict.evidence(format!("{} MTU {}", member.name, member.mtu));
    }
    verdict
}

/// Interfaces by what they have in common.
type Groups<'a> = Vec<(Common, Vec<&'a Interface>)>;

fn put<'a>(groups: &mut Groups<'a>, of: Common, interface: &'a Interface) {
    match groups.iter_mut().find(|(name, _)| *name == of) {
        Some((_, members)) => members.push(interface),
        None => groups.push((of, vec![interface])),
    }
}

/// Rails are of one speed; a slower port of the same maker is for something else.
fn rails<'a>(facts: &Facts, up: &[&'a Interface]) -> Result<Groups<'a>, Verdict> {
    let devices = facts.rdma.devices.require("no RDMA devices")?;
    let mut names: Vec<&String> = Vec::new();
    for device in devices {
        let mut ports = device.ports.decided()?.into_iter().flatten();
        if ports.any(|port| port.link_layer == LinkLayer::Ethernet && port.state == PortState::Active) {
            names.extend(device.interfaces.decided()?.into_iter().flatten());
        }
    }
    let mut groups = Groups::new();
    for &rail in up.iter().filter(|interface| names.contains(&&interface.name)) {
        if let Some(speed) = rail.speed.decided()? {
            put(&mut groups, Common::RoceSpeed(speed / 1000), rail);
        }
    }
    Ok(groups)
}

/// Interfaces of one network.
fn networks<'a>(up: &[&'a Interface]) -> Result<Groups<'a>, Verdict> {
    let mut groups = Groups::new();
    for &interface in up {
        for network in interface.networks.decided()?.into_iter().flatten() {
            put(&mut groups, Common::Network(network.clone()), interface);
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(mtus: &[u32]) -> Facts {
        let mut facts = gpu_node();
        let mut interfaces = Vec::new();
        let mut devices = Vec::new();
        for (at, mtu) in mtus.iter().enumerate() {
            let mut rail = interface(&format!("eth{at}"), true, *mtu, &format!("10.{at}.0.5/24"));
            rail.speed = Fact::Known(400_000);
            interfaces.push(rail);
            let mut device = rdma_device(&format!("mlx5_{at}"), "Ethernet", "ACTIVE", 400);
            device.interfaces = Fact::Known(vec![format!("eth{at}")]);
            devices.push(device);
        }
        facts.network.interfaces = Fact::Known(interfaces);
        facts.rdma.devices = Fact::Known(devices);
        facts
    }

    #[test]
    fn a_rail_with_another_mtu_is_found() {
        expect(&CHECK, &node(&[9000, 9000, 1500]), "warning", "eth2 has MTU 1500");
        expect(&CHECK, &node(&[9000, 9000]), "pass", "");
        expect(&CHECK, &node(&[9000]), "not-applicable", "");
    }

    #[test]
    fn what_is_unread_is_unknown_unless_a_difference_is_known() {
        let unread = || Fact::Unknown("permission denied".into());
        let mut facts = node(&[9000, 9000]);
        if let Fact::Known(devices) = &mut facts.rdma.devices {
            devices[1].interfaces = unread();
        }
        expect(&CHECK, &facts, "unknown", "permission denied");
        let mut facts = node(&[9000, 9000]);
        if let Fact::Known(interfaces) = &mut facts.network.interfaces {
            interfaces[0].networks = unread();
        }
        expect(&CHECK, &facts, "unknown", "permission denied");
        let mut facts = node(&[9000, 9000, 1500]);
        if let Fact::Known(interfaces) = &mut facts.network.interfaces {
            interfaces[0].networks = unread();
        }
        expect(&CHECK, &facts, "warning", "eth2 has MTU 1500");
    }

    #[test]
    fn a_management_port_may_differ() {
        let mut facts = node(&[9000, 9000]);
        if let Fact::Known(interfaces) = &mut facts.network.interfaces {
            interfaces.push(interface("eno1", true, 1500, "192.0.2.5/24"));
        }
        expect(&CHECK, &facts, "pass", "");
        facts.network.interfaces = Fact::Unknown("no /sys".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
