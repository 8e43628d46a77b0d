//! Two machines have one host name.

use super::FleetCheck;
use crate::{Fix, Judged, Subject, Verdict};
use diagnostic::Severity;
use facts::Fact;
use facts::fleet::Fleet;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-hostname-taken",
    severity: Severity::Warning,
    summary: "every machine has a unique host name",
    explain: include_str!("fleet_hostname_taken.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    let mut seen: Vec<(String, &str)> = Vec::new();
    let mut unknown = None;
    for member in &fleet.members {
        let name = member.identity.as_ref().map(|identity| identity.hostname.clone());
        match name.or_look(|| member.facts.network.hostname.clone()) {
            Fact::Known(hostname) => match seen.iter().find(|(known, _)| *known == hostname) {
                Some((_, other)) => {
                    let message = format!(
                        "{other} and {} have the same host name {hostname}, which a swarm uses to list its \
                         nodes",
                        member.name
                    );
                    let fix = Fix::restarts_service(
                        "Rename one of the machines:",
                        &["hostnamectl set-hostname NEW-NAME", "systemctl restart docker"],
                    );
                    return Ok(Verdict::warning(message, fix).about(Subject::node(&member.name)));
                }
                None => seen.push((hostname, &member.name)),
            },
            Fact::Absent => unknown = unknown.or(Some(format!("{}: no host name", member.name))),
            Fact::Unknown(why) => unknown = unknown.or(Some(format!("{}: {why}", member.name))),
        }
    }
    match unknown {
        Some(why) => Err(Verdict::unknown(why)),
        None => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;

    #[test]
    fn reports_duplicate_host_name() {
        let mut fleet = two();
        assert_eq!(verdict_line(&CHECK, &fleet), "pass");
        fleet.members[1].identity = fleet.members[0].identity.clone();
        assert!(
            verdict_line(&CHECK, &fleet)
                .starts_with("warning: node1 and node2 have the same host name node1")
        );
    }
}
