//! A machine's address means nothing, or something else, on another.

use std::net::IpAddr;

use super::{FleetCheck, Severity, tried};
use crate::{Fix, Judged, Subject, Verdict};
use facts::Fact;
use facts::fleet::Fleet;

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

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says, two};
    use super::*;
    use facts::fleet::Pair;

    #[test]
    fn a_name_must_mean_the_same_everywhere() {
        let of = |resolved: Fact<Vec<IpAddr>>| {
            let mut fleet = two();
            fleet.members[1].address = "node2.lan".into();
            fleet.pairs = vec![Pair { from: 0, to: 1, resolved, mtu: Fact::Absent, ports: Vec::new() }];
            says(&CHECK, &fleet)
        };
        assert_eq!(of(Fact::Known(vec!["10.0.0.2".parse().unwrap()])), "pass");
        assert_eq!(of(Fact::Absent), "error: node1 cannot resolve node2.lan, the address of node2");
        assert!(of(Fact::Known(vec!["127.0.1.1".parse().unwrap()])).contains("connects to itself"));
        assert!(of(Fact::Unknown("no worker".into())).starts_with("unknown: from node1 to node2: no worker"));
    }
}
