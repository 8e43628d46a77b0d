//! The firewall does not let in what a Docker swarm needs.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "swarm-ports-blocked",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the firewall allows the ports that a Docker swarm needs",
    explain: include_str!("swarm_ports_blocked.md"),
    judge,
};

/// Managers listen on it.
const MANAGER_PORT: &str = "2377/tcp";
const ROLE_UNKNOWN: &str = "docker info does not report whether this node is a swarm manager, which needs \
                            2377/tcp; the firewall does not allow that port";

fn judge(facts: &Facts) -> Judged {
    let firewall = facts.network.firewall.require("neither ufw nor firewalld is active")?;
    let state = facts.docker.info_text(&["Swarm", "LocalNodeState"]);
    let state = state.require("this machine is not a swarm node")?;
    if !matches!(state.as_str(), "active" | "locked" | "pending") {
        return Err(Verdict::NotApplicable("this machine is not a swarm node".into()));
    }
    let manager = facts.docker.info_value(&["Swarm", "ControlAvailable"]);
    let role = manager.known().and_then(|value| value.as_bool());
    let mut closed = Vec::new();
    for (port, protocol) in [(2377, "tcp"), (7946, "tcp"), (7946, "udp"), (4789, "udp")] {
        if !*firewall.allows(port, protocol).require("no rules")? {
            closed.push(format!("{port}/{protocol}"));
        }
    }
    let for_manager = closed.iter().any(|port| port == MANAGER_PORT);
    if role != Some(true) {
        closed.retain(|port| port != MANAGER_PORT);
    }
    let unchecked = for_manager && role.is_none();
    if closed.is_empty() {
        return if unchecked { Err(Verdict::unknown(ROLE_UNKNOWN)) } else { Ok(Verdict::Pass) };
    }
    let message = format!(
        "{} blocks {}; swarm nodes lose contact, or overlay networks carry no traffic",
        firewall.name,
        closed.join(", ")
    );
    let rules = firewall.allowed.known().map(|rules| rules.join(", ")).unwrap_or_default();
    let verdict = Verdict::warning(message, fix(&firewall.name, &closed))
        .evidence(format!("{} allows: {rules}", firewall.name));
    Ok(if unchecked { verdict.evidence(ROLE_UNKNOWN) } else { verdict })
}

fn fix(firewall: &str, closed: &[String]) -> Fix {
    let mut commands: Vec<String> = closed
        .iter()
        .map(|port| match firewall {
            "ufw" => {
                let (number, protocol) = port.split_once('/').unwrap_or((port, "tcp"));
                format!(
                    "sudo ufw allow from 10.0.0.0/8 to any port {} proto {}",
                    shell::word(number),
                    shell::word(protocol)
                )
            }
            _ => format!("sudo firewall-cmd --permanent --add-port={}", shell::word(port)),
        })
        .collect();
    let text = if firewall == "ufw" {
        "Allow the ports (replace the example with your nodes' network):"
    } else {
        commands.push("sudo firewall-cmd --reload".into());
        "Open the ports to everyone (safer: in a zone whose sources are your nodes' addresses):"
    };
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    Fix::safe(text, &commands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    use facts::network::Firewall;

    fn node(allowed: Fact<Vec<String>>) -> Facts {
        let mut facts = build_host();
        facts.network.firewall = Fact::Known(Firewall { name: "ufw".into(), allowed });
        facts.docker.info =
            Fact::Known(serde_json::json!({"Swarm": {"LocalNodeState": "active", "ControlAvailable": true}}));
        facts
    }

    #[test]
    fn closed_ports_are_found_on_swarm_nodes() {
        let ports = |list: &[&str]| Fact::Known(list.iter().map(|port| (*port).to_owned()).collect());
        expect(&CHECK, &node(ports(&["22/tcp", "7946/any"])), "warning", "2377/tcp, 4789/udp");
        expect(&CHECK, &node(ports(&["2377/tcp", "7946/any", "4789/udp"])), "pass", "");
        expect(&CHECK, &node(Fact::Unknown("permission denied".into())), "unknown", "");
        let without_role = |mut facts: Facts| {
            facts.docker.info = Fact::Known(serde_json::json!({"Swarm": {"LocalNodeState": "active"}}));
            facts
        };
        let worker = node(ports(&["7946/any", "4789/udp"]));
        expect(&CHECK, &without_role(worker), "unknown", "2377/tcp");
        expect(&CHECK, &without_role(node(ports(&["2377/tcp", "7946/any", "4789/udp"]))), "pass", "");
        let verdict = crate::judge_one(&CHECK, &without_role(node(ports(&["7946/any"]))));
        let found = verdict.found().unwrap();
        assert!(found.evidence.iter().any(|one| one.contains("swarm manager")), "{found:?}");
        let mut alone = node(ports(&[]));
        alone.docker.info = Fact::Known(serde_json::json!({"Swarm": {"LocalNodeState": "inactive"}}));
        expect(&CHECK, &alone, "not-applicable", "");
        expect(
            &CHECK,
            &{
                let mut open = node(ports(&[]));
                open.network.firewall = Fact::Absent;
                open
            },
            "not-applicable",
            "",
        );
    }
}
