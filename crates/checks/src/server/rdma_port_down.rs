//! An InfiniBand port is not active.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::rdma::{LinkLayer, PhysicalState, PortState, RdmaDevice};

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
            let other = |other: &&RdmaDevice| {
                other.name != device.name && other.card.is_some() && other.card == device.card
            };
            let lit = |other: &RdmaDevice| other.ports().any(|port| port.state == PortState::Active);
            if devices.iter().filter(other).any(lit) {
                continue;
            }
            let linked = ports.iter().any(|port| port.physical_state == PhysicalState::LinkUp);
            if linked { waiting.push(device) } else { down.push(device) }
        }
        Ok(Ports { active, waiting, down })
    }
}

fn show(device: &RdmaDevice) -> String {
    let ports = device.ports().map(|port| format!("{} ({})", port.state, port.physical_state));
    format!("{}: {}", device.name, ports.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
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
    fn ethernet_ports_are_not_judged() {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![
            rdma_device("mlx5_0", "Ethernet", "ACTIVE", 25),
            rdma_device("mlx5_1", "Ethernet", "DOWN", 25),
        ]);
        expect(&CHECK, &facts, "not-applicable", "");
    }
}
