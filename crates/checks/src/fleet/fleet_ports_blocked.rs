//! A port that the cluster needs is not reached.

use super::{FleetCheck, tried};
use crate::{Fix, Judged, Severity, Verdict};
use facts::Fact;
use facts::fleet::Why;
use facts::fleet::{Fleet, Pair, Port, Reach};

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-ports-blocked",
    severity: Severity::Error,
    summary: "every machine can connect to the ports that the cluster needs",
    explain: include_str!("fleet_ports_blocked.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    tried(fleet)?;
    let name = |index: usize| fleet.members.get(index).map_or("?", |member| member.name.as_str());
    let mut blocked: Vec<(&Pair, Port, String)> = Vec::new();
    let mut unknown = None;
    let mut reached = false;
    for pair in &fleet.pairs {
        for (port, reach) in &pair.ports {
            match reach {
                Fact::Known(Reach::Reached) => reached = true,
                Fact::Known(Reach::Not(why, message)) => blocked.push((pair, *port, words(*why, message))),
                Fact::Absent => {}
                Fact::Unknown(why) => {
                    unknown =
                        unknown.or(Some(format!("{} → {}, {port}: {why}", name(pair.from), name(pair.to))));
                }
            }
        }
    }
    if blocked.is_empty() {
        return match (unknown, reached) {
            (Some(why), _) => Err(Verdict::unknown(why)),
            (None, true) => Ok(Verdict::Pass),
            (None, false) => Err(Verdict::Unknown("no port was tested between the machines".into())),
        };
    }
    let mut ports: Vec<Port> = blocked.iter().map(|(_, port, _)| *port).collect();
    ports.sort_unstable();
    ports.dedup();
    let each = ports.iter().map(|port| {
        let of = || blocked.iter().filter(|(_, blocked, _)| blocked == port);
        let ways: Vec<String> =
            of().take(3).map(|(pair, _, _)| format!("{} → {}", name(pair.from), name(pair.to))).collect();
        let more = if of().count() > 3 { format!(" and {} more", of().count() - 3) } else { String::new() };
        format!("{port} ({}): {}{more}", port.purpose, ways.join(", "))
    });
    let message = format!("cannot connect to {}", each.collect::<Vec<_>>().join("; "));
    let commands: Vec<String> = ports.iter().map(|port| format!("ufw allow {port}")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let fix = Fix::safe(
        "Allow the ports from the cluster's addresses (ufw as an example; check the cloud's security groups \
         too):",
        &commands,
    );
    Ok(blocked.iter().take(20).fold(Verdict::error(message, fix), |finding, (pair, port, why)| {
        finding.evidence(format!("{} → {}, {port}: {why}", name(pair.from), name(pair.to)))
    }))
}

fn words(why: Why, message: &str) -> String {
    match why {
        Why::TimedOut => "no reply: packets are dropped on the path (firewall)".into(),
        Why::Refused => "refused although envdoc was listening: rejected on the path (firewall)".into(),
        Why::Unreachable => format!("unreachable: {message}"),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;

    #[test]
    fn names_blocked_port_and_direction() {
        let vxlan = Port { number: 4789, udp: true, purpose: "the containers' traffic" };
        let of = |reach: Fact<Reach>| {
            let mut fleet = two();
            fleet.pairs = vec![Pair {
                from: 0,
                to: 1,
                resolved: Fact::Absent,
                mtu: Fact::Absent,
                ports: vec![
                    (Port { number: 7946, udp: false, purpose: "members" }, Fact::Known(Reach::Reached)),
                    (vxlan, reach),
                ],
            }];
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(Fact::Known(Reach::Reached)), "pass");
        assert_eq!(
            of(Fact::Known(Reach::Not(Why::TimedOut, String::new()))),
            "error: cannot connect to 4789/udp (the containers' traffic): node1 → node2"
        );
        assert!(
            of(Fact::Unknown("taken there".into())).starts_with("unknown: node1 → node2, 4789/udp: taken")
        );
    }
}
