//! The address that the swarm has for this machine is none of its addresses.

use std::net::{IpAddr, Ipv4Addr};

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::network::Interface;

pub(super) const CHECK: Check = Check {
    id: "swarm-address-stale",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "the swarm has an address for this machine that the machine has",
    explain: include_str!("swarm_address_stale.md"),
    judge,
};

const JOIN: &str = "docker swarm join --advertise-addr ADDRESS --token TOKEN MANAGER:2377";

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let info = docker.answering()?;
    if !*docker.in_swarm().require("no engine")? {
        return Err(Verdict::NotApplicable("not in a swarm".into()));
    }
    let address = info.pointer("/Swarm/NodeAddr").and_then(|address| address.as_str()?.parse().ok());
    let Some(IpAddr::V4(address)) = address else {
        return Err(Verdict::unknown("the engine reports no IPv4 address in the swarm".to_owned()));
    };
    let interfaces = facts.network.interfaces.require("no network interfaces")?;
    let mut own = Vec::new();
    for interface in interfaces {
        own.extend(interface.ipv4.require("no IPv4 addresses")?);
        interface.networks.decided()?;
    }
    let parsed = |text: &&String| text.split('/').next().and_then(|address| address.parse().ok());
    if own.iter().filter_map(parsed).any(|other: Ipv4Addr| other == address) {
        return Ok(Verdict::Pass);
    }
    // An address whose network several interfaces share is in no interface's list.
    if interfaces.iter().filter(|interface| reaches(interface, address)).count() > 1 {
        return Err(Verdict::unknown(format!("several interfaces share the network of {address}")));
    }
    let message = format!(
        "the swarm has the address {address} for this machine, which no interface has; other nodes send its \
         containers' traffic there, and it is lost"
    );
    let fix = Fix::restarts_service(
        "Leave the swarm and join it again with the current address (on the manager: `docker swarm \
            join-token \
         worker`):",
        &["docker swarm leave", JOIN],
    );
    let listed: Vec<&str> = own.iter().map(|address| address.as_str()).collect();
    Ok(Verdict::error(message, fix)
        .about(Subject::name(address.to_string()))
        .evidence(format!("docker info: Swarm.NodeAddr {address}"))
        .evidence(format!("addresses: {}", listed.join(", "))))
}

/// Whether an address is in a network that the interface is connected to.
fn reaches(interface: &Interface, address: Ipv4Addr) -> bool {
    interface.networks.known().into_iter().flatten().any(|network| {
        let parts = network.split_once('/');
        let parsed = parts
            .and_then(|(first, length)| Some((first.parse::<Ipv4Addr>().ok()?, length.parse::<u32>().ok()?)));
        parsed.is_some_and(|(first, length)| {
            let mask = u32::MAX.checked_shl(32 - length.min(32)).unwrap_or(0);
            u32::from(first) & mask == u32::from(address) & mask
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;
    use serde_json::json;

    fn facts(node: &str, interfaces: &[(&str, &[&str])]) -> Facts {
        server(|facts| {
            let swarm = json!({"LocalNodeState": "active", "NodeAddr": node});
            facts.docker.info = Fact::Known(json!({ "Swarm": swarm }));
            let of = |(address, networks): &(&str, &[&str])| Interface {
                name: "eth0".into(),
                state: "up".into(),
                mtu: 1500,
                speed: Fact::Absent,
                ipv4: Fact::Known(
                    Some((*address).to_owned()).filter(|own| !own.is_empty()).into_iter().collect(),
                ),
                networks: Fact::Known(networks.iter().map(|network| (*network).to_owned()).collect()),
                ipv6: Vec::new(),
                physical: true,
                kind: facts::network::InterfaceKind::Ethernet,
                master: None,
            };
            facts.network.interfaces = Fact::Known(interfaces.iter().map(of).collect());
        })
    }

    #[test]
    fn swarm_address_that_no_interface_has_is_an_error() {
        let now: &[(&str, &[&str])] = &[("10.88.0.32/24", &["10.88.0.0/24"])];
        expect(&CHECK, &facts("10.88.0.32", now), "pass", "");
        expect(&CHECK, &facts("10.88.0.22", now), "error", "the address 10.88.0.22 for this machine");
        expect(&CHECK, &facts("192.0.2.7", now), "error", "192.0.2.7");
    }

    #[test]
    fn unreadable_addresses_are_unknown() {
        let shared: &[(&str, &[&str])] = &[("", &["10.88.0.0/24"]), ("", &["10.88.0.0/24"])];
        expect(&CHECK, &facts("10.88.0.22", shared), "unknown", "share the network");
        expect(&CHECK, &facts("", shared), "unknown", "no IPv4 address");
        let alone = |facts: &mut Facts| {
            facts.docker.info = Fact::Known(json!({"Swarm": {"LocalNodeState": "inactive"}}));
        };
        expect(&CHECK, &server(alone), "not-applicable", "not in a swarm");
        let mut unread = facts("10.88.0.22", shared);
        unread.network.interfaces = Fact::Unknown("x".into());
        expect(&CHECK, &unread, "unknown", "x");
    }
}
