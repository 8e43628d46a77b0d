//! A machine's address means nothing, or something else, on another.

use std::net::IpAddr;

use super::{FleetCheck, tried};
use crate::{Fix, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::fleet::{Fleet, Member, Pair};
use facts::network::InterfaceKind;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-address-unresolved",
    severity: Severity::Error,
    summary: "every machine's address resolves to the same address on all others",
    explain: include_str!("fleet_address_unresolved.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    tried(fleet)?;
    let fix = || {
        Fix::manual("Use IP addresses in cluster.yaml, or add the name to DNS or /etc/hosts on that machine.")
    };
    let name = |index: usize| fleet.members.get(index).map_or("?", |member| member.name.as_str());
    let address = |index: usize| fleet.members.get(index).map_or("?", |member| member.address.as_str());
    let mut unknown = None;
    let mut seen: Vec<(usize, usize, Vec<IpAddr>)> = Vec::new();
    for pair in &fleet.pairs {
        let (from, to) = (name(pair.from), name(pair.to));
        match &pair.resolved {
            Fact::Known(found) => {
                if found.iter().all(IpAddr::is_loopback) && address(pair.to).parse::<IpAddr>().is_err() {
                    let message = format!(
                        "on {from}, {} resolves to the loopback address {}, so {from} connects to itself \
                         instead of {to}",
                        address(pair.to),
                        list(found)
                    );
                    return Ok(Verdict::error(message, fix()).about(Subject::node(from)));
                }
                if let Some(message) = wrong_machine(fleet, pair, found) {
                    return Ok(Verdict::error(message, fix()).about(Subject::node(from)));
                }
                let mut sorted = found.clone();
                sorted.sort();
                if let Some((_, other, before)) =
                    seen.iter().find(|(of, _, before)| *of == pair.to && *before != sorted)
                {
                    let message = format!(
                        "{} resolves to {} on {from} but to {} on {}",
                        address(pair.to),
                        list(&sorted),
                        list(before),
                        name(*other)
                    );
                    return Ok(Verdict::warning(message, fix()).about(Subject::node(from)));
                }
                seen.push((pair.to, pair.from, sorted));
            }
            Fact::Absent => {
                let message = format!("{from} cannot resolve {}, the address of {to}", address(pair.to));
                return Ok(Verdict::error(message, fix()).about(Subject::node(from)));
            }
            Fact::Unknown(why) => unknown = unknown.or(Some(format!("from {from} to {to}: {why}"))),
        }
    }
    match (unknown, fleet.pairs.is_empty()) {
        (Some(why), _) => Err(Verdict::unknown(why)),
        (None, true) => Err(Verdict::Unknown("no connection was tested between the machines".into())),
        (None, false) => Ok(Verdict::Pass),
    }
}

/// What is wrong where a name gives the address of another machine of the fleet.
fn wrong_machine(fleet: &Fleet, pair: &Pair, found: &[IpAddr]) -> Option<String> {
    let (from, to) = (&fleet.members.get(pair.from)?.name, fleet.members.get(pair.to)?);
    let other = elsewhere(fleet, pair.to, found)?;
    Some(format!(
        "on {from}, {} resolves to {}, an address of {other} and not of {name}, so {from} connects to \
         {other} instead of {name}",
        to.address,
        list(found),
        name = to.name
    ))
}

/// The machine that has one of these addresses, where `to` has none of them. An address that no machine has
/// may be translated on the way.
fn elsewhere<'f>(fleet: &'f Fleet, to: usize, found: &[IpAddr]) -> Option<&'f str> {
    let has = |member: &Member| Some(own(member)?.iter().any(|address| found.contains(address)));
    if has(fleet.members.get(to)?)? {
        return None;
    }
    let other = fleet.members.iter().find(|member| has(member) == Some(true))?;
    Some(&other.name)
}

/// All addresses of a machine but those of its loopback; `None` where not all are known.
fn own(member: &Member) -> Option<Vec<IpAddr>> {
    let interfaces = member.facts.network.interfaces.known()?;
    let mut own = Vec::new();
    for interface in interfaces.iter().filter(|interface| interface.kind != InterfaceKind::Loopback) {
        let addresses = interface.ipv4.known()?.iter().chain(&interface.ipv6);
        own.extend(addresses.filter_map(|text| text.split('/').next()?.parse::<IpAddr>().ok()));
    }
    Some(own)
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;
    use facts::network::Interface;

    #[test]
    fn reports_unresolved_and_loopback_addresses() {
        let of = |resolved: Fact<Vec<IpAddr>>| {
            let mut fleet = two();
            fleet.members[1].address = "node2.lan".into();
            fleet.pairs = vec![Pair { from: 0, to: 1, resolved, mtu: Fact::Absent, ports: Vec::new() }];
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(Fact::Known(vec!["10.0.0.2".parse().unwrap()])), "pass");
        assert_eq!(of(Fact::Absent), "error: node1 cannot resolve node2.lan, the address of node2");
        assert!(of(Fact::Known(vec!["127.0.1.1".parse().unwrap()])).contains("connects to itself"));
        assert!(of(Fact::Unknown("no worker".into())).starts_with("unknown: from node1 to node2: no worker"));
    }

    #[test]
    fn reports_name_that_resolves_to_another_member() {
        let interface = |address: &str| Interface {
            name: "eth0".into(),
            state: "up".into(),
            mtu: 1500,
            speed: Fact::Absent,
            ipv4: Fact::Known(vec![address.into()]),
            networks: Fact::Known(Vec::new()),
            ipv6: Vec::new(),
            physical: true,
            kind: InterfaceKind::Ethernet,
            master: None,
        };
        let mut fleet = two();
        fleet.members[1].address = "node2.lan".into();
        fleet.members[0].facts.network.interfaces = Fact::Known(vec![interface("10.0.0.1/24")]);
        fleet.members[1].facts.network.interfaces = Fact::Known(vec![interface("10.0.0.2/24")]);
        let of = |fleet: &Fleet, address: &str| {
            let resolved = Fact::Known(vec![address.parse().unwrap()]);
            let pairs = vec![Pair { from: 0, to: 1, resolved, mtu: Fact::Absent, ports: Vec::new() }];
            verdict_line(&CHECK, &Fleet { pairs, ..fleet.clone() })
        };
        assert_eq!(of(&fleet, "10.0.0.2"), "pass");
        assert_eq!(
            of(&fleet, "10.0.0.1"),
            "error: on node1, node2.lan resolves to 10.0.0.1, an address of node1 and not of node2, so node1 \
             connects to node1 instead of node2"
        );
        // Translated on the way, perhaps.
        assert_eq!(of(&fleet, "192.0.2.7"), "pass");
    }
}
