//! A machine of a role on which nothing is there, to be changed field by field.

use super::Sparse;
use crate::network::Interface;
use crate::rdma::{RdmaDevice, RdmaPort};
use crate::{Expected, Fact, Facts, Role, gather};

/// A machine of this role, on which everything else is absent or (where something must exist) unknown.
pub fn machine(role: Role) -> Facts {
    let mut facts = gather::recorded(&Sparse::default(), Expected::default(), catalog::testing::catalog());
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
        card: Fact::Absent,
        interfaces: Fact::Known(vec![]),
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
        networks: Fact::Known(vec![format!("{address} network")]),
        ipv6: vec![],
        physical,
        kind: crate::network::InterfaceKind::Ethernet,
        master: None,
    }
}
