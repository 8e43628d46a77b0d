//! An InfiniBand port is not active.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use diagnostic::Missing;
use facts::rdma::{LinkLayer, PhysicalState, PortState, RdmaDevice};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "rdma-port-down",
    group: Group::Rdma,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the InfiniBand ports are active",
    explain: include_str!("rdma_port_down.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let devices = facts.rdma.devices.require("no RDMA device")?;
    let Ports { active, waiting, down } = Ports::of(devices)?;
    if active + waiting.len() + down.len() == 0 {
        return Err(Verdict::NotApplicable("no InfiniBand port".into()));
    }
    if let Some(first) = waiting.first() {
        let message = format!(
            "{} of {} InfiniBand adapters have a link but are not active ({}); usually no subnet manager has \
             configured them",
            waiting.len(),
            active + waiting.len() + down.len(),
            first.name
        );
        let fix = Fix::safe("Check whether the fabric has a subnet manager:", &["sudo sminfo", "ibstat"]);
        let verdict = Verdict::error(message, fix).about(Subject::name(&first.name));
        return Ok(waiting.iter().fold(verdict, |verdict, device| verdict.evidence(show(device))));
    }
    if down.is_empty() {
        return Ok(Verdict::Pass);
    }
    let names: Vec<&str> = down.iter().map(|device| device.name.as_str()).collect();
    let fix = Fix {
        class: FixClass::Manual,
        ..Fix::safe("Check cable, transceiver and switch port:", &["ibstat"])
    };
    let verdict = match active {
        0 if facts.expected.rdma == Some(true) => {
            Verdict::error("RDMA was expected but no InfiniBand port has a link", fix)
        }
        0 => return Err(Verdict::NotApplicable("no InfiniBand port is connected".into())),
        _ => {
            let message = format!(
                "{} {} no link while {active} others are active; GPUs near {} use a more distant adapter",
                names.join(", "),
                if names.len() == 1 { "has" } else { "have" },
                if names.len() == 1 { "it" } else { "them" }
            );
            Verdict::warning(message, fix).about(Subject::name(names.join(", ")))
        }
    };
    Ok(down.iter().fold(verdict, |verdict, device| verdict.evidence(show(device))))
}

/// The devices with InfiniBand ports.
struct Ports<'a> {
    /// How many have an active port.
    active: usize,
    /// With a link, but not active.
    waiting: Vec<&'a RdmaDevice>,
    /// Without a link.
    down: Vec<&'a RdmaDevice>,
}

impl Ports<'_> {
    fn of(devices: &[RdmaDevice]) -> Result<Ports<'_>, Verdict> {
        let mut active = 0;
        let mut waiting = Vec::new();
        let mut down = Vec::new();
        for device in devices {
            let ports = device.ports.require("no ports")?;
            let ports: Vec<_> =
                ports.iter().filter(|port| port.link_layer == LinkLayer::InfiniBand).collect();
            if ports.is_empty() {
                continue;
            }
            // The second port of a card is often not connected, be it a port of this device or a device of
            // its own.
            if ports.iter().any(|port| port.state == PortState::Active) {
                active += 1;
                continue;
            }
            if card_is_active(device, devices)? {
                continue;
            }
            let linked = ports.iter().any(|port| port.physical_state == PhysicalState::LinkUp);
            if linked { waiting.push(device) } else { down.push(device) }
        }
        Ok(Ports { active, waiting, down })
    }
}

/// Whether another device of the same card has an active port.
fn card_is_active(device: &RdmaDevice, devices: &[RdmaDevice]) -> Result<bool, Missing> {
    let lit = |other: &&RdmaDevice| other.ports().any(|port| port.state == PortState::Active);
    let mut unread = None;
    for other in devices.iter().filter(|other| other.name != device.name).filter(lit) {
        match (&device.card, &other.card) {
            (Fact::Absent, _) | (_, Fact::Absent) => {}
            (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => unread = Some(why.clone()),
            (Fact::Known(card), Fact::Known(other)) if card == other => return Ok(true),
            (Fact::Known(_), Fact::Known(_)) => {}
        }
    }
    unread.map_or(Ok(false), Err)
}

fn show(device: &RdmaDevice) -> String {
    let ports = device.ports().map(|port| format!("{} ({})", port.state, port.physical_state));
    format!("{}: {}", device.name, ports.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;

    fn node(states: &[&str]) -> Facts {
        let mut facts = gpu_node();
        let devices = states
            .iter()
            .enumerate()
            .map(|(at, state)| rdma_device(&format!("mlx5_{at}"), "InfiniBand", state, 400));
        facts.rdma.devices = Fact::Known(devices.collect());
        facts
    }

    #[test]
    fn ports_that_are_not_active_are_found() {
        expect(&CHECK, &node(&["ACTIVE", "DOWN"]), "warning", "mlx5_1 has no link");
        expect(&CHECK, &node(&["ACTIVE", "INIT"]), "error", "subnet manager");
        expect(&CHECK, &node(&["ACTIVE", "ACTIVE"]), "pass", "");
        expect(&CHECK, &node(&["DOWN", "DOWN"]), "not-applicable", "");
        let mut expected = node(&["DOWN"]);
        expected.expected.rdma = Some(true);
        expect(&CHECK, &expected, "error", "no InfiniBand port has a link");
        let mut unread = node(&["ACTIVE"]);
        unread.rdma.devices = Fact::Unknown("no /sys".into());
        expect(&CHECK, &unread, "unknown", "");
    }

    #[test]
    fn second_port_of_a_card_is_not_reported_nor_one_of_an_unknown_card() {
        let on = |first: Fact<String>, second: Fact<String>| {
            let mut facts = node(&["ACTIVE", "DOWN"]);
            if let Fact::Known(devices) = &mut facts.rdma.devices {
                (devices[0].card, devices[1].card) = (first, second);
            }
            facts
        };
        let card = |text: &str| Fact::Known(text.to_owned());
        expect(&CHECK, &on(card("0000:18:00"), card("0000:18:00")), "pass", "");
        expect(&CHECK, &on(card("0000:18:00"), card("0000:19:00")), "warning", "mlx5_1 has no link");
        let unread = || Fact::Unknown("permission denied".into());
        expect(&CHECK, &on(card("0000:18:00"), unread()), "unknown", "permission denied");
        expect(&CHECK, &on(unread(), card("0000:18:00")), "unknown", "permission denied");
    }

    #[test]
    fn ethernet_ports_are_not_judged() {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![
            rdma_device("mlx5_0", "Ethernet", "ACTIVE", 25),
            rdma_device("mlx5_1", "Ethernet", "DOWN", 25),
        ]);
        expect(&CHECK, &facts, "not-applicable", "");
    }
}
