//! Machines for the tests of checks: facts of an empty machine, to be changed field by field.

use super::network::Interface;
use super::rdma::{RdmaDevice, RdmaPort};
use super::{Expected, Fact, Facts, Role, gather};
use crate::checks::{Check, Severity, Verdict, judge_one};
use crate::host::{Ask, Host, Reading};

/// A machine on which nothing is there.
struct Empty;

impl Host for Empty {
    fn ask(&self, _: Ask<'_>) -> Reading {
        Reading::Absent
    }
}

/// A machine of this role, on which everything else is absent or (where something must exist) unknown.
pub fn machine(role: Role) -> Facts {
    let mut facts = gather::recorded(&Empty, Expected::default());
    facts.expected.role = Some(role);
    facts.system.container = match role {
        Role::Container => Fact::Known("docker".into()),
        _ => Fact::Absent,
    };
    facts.system.wsl = Fact::Absent;
    facts.environment.variables = Fact::Known(Default::default());
    facts.pci.devices = Fact::Known(vec![]);
    facts
}

/// A machine with a GPU.
pub fn gpu_node() -> Facts {
    machine(Role::GpuNode)
}

/// A container with a GPU.
pub fn gpu_container() -> Facts {
    let mut facts = machine(Role::Container);
    facts.expected.gpus = Some(1);
    facts
}

/// A machine without GPU.
pub fn build_host() -> Facts {
    machine(Role::BuildHost)
}

/// The same machine with these variables set.
pub fn with_variables(mut facts: Facts, variables: &[(&str, &str)]) -> Facts {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    facts.environment.variables = Fact::Known(variables.collect());
    facts
}

/// An RDMA device with one port.
pub fn rdma_device(name: &str, layer: &str, state: &str, gigabits: u32) -> RdmaDevice {
    RdmaDevice {
        name: name.into(),
        firmware: Fact::Known("28.41.1000".into()),
        kind: Fact::Known("MT4129".into()),
        ports: Fact::Known(vec![RdmaPort {
            number: 1,
            link_layer: layer.into(),
            state: state.into(),
            physical_state: if state == "DOWN" { "Polling" } else { "LinkUp" }.into(),
            rate: Fact::Known(gigabits * 1000),
        }]),
        interfaces: vec![],
    }
}

/// An Ethernet interface that is up, with an address.
pub fn interface(name: &str, physical: bool, mtu: u32, address: &str) -> Interface {
    Interface {
        name: name.into(),
        state: "up".into(),
        mtu,
        speed: Fact::Absent,
        ipv4: Fact::Known(vec![address.into()]),
        networks: vec![format!("{address} network")],
        ipv6: vec![],
        physical,
        kind: "ethernet".into(),
        master: None,
    }
}

/// What a check says.
pub fn verdict(check: &Check, facts: &Facts) -> Verdict {
    judge_one(check, facts)
}

/// Whether it is a finding of this severity that says this.
pub fn finds(check: &Check, facts: &Facts, at: Severity, part: &str) -> bool {
    match verdict(check, facts) {
        Verdict::Finding { severity, says, .. } if severity == at && says.contains(part) => true,
        other => panic!("{}: {other:?} does not say {part:?}", check.id),
    }
}

/// Whether it passes.
pub fn passes(check: &Check, facts: &Facts) -> bool {
    match verdict(check, facts) {
        Verdict::Pass => true,
        other => panic!("{}: {other:?} is no pass", check.id),
    }
}

/// Whether it means nothing.
pub fn means_nothing(check: &Check, facts: &Facts) -> bool {
    match verdict(check, facts) {
        Verdict::NotApplicable(_) => true,
        other => panic!("{}: {other:?} is not \"not applicable\"", check.id),
    }
}

/// Whether it could not look.
pub fn is_unknown(check: &Check, facts: &Facts) -> bool {
    match verdict(check, facts) {
        Verdict::Unknown(_) => true,
        other => panic!("{}: {other:?} is not unknown", check.id),
    }
}
