//! The machine has a default route but no name server.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "name-server-missing",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "a name server is configured",
    explain: include_str!("name_server_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let servers = facts.network.name_servers.decided()?;
    if servers.is_some_and(|servers| !servers.is_empty()) {
        return Ok(Verdict::Pass);
    }
    facts.network.default_route.require("no default route")?;
    if facts
        .network
        .name_services
        .decided()?
        .is_some_and(|all| all.iter().any(|service| service == "resolve"))
    {
        return Err(Verdict::NotApplicable(
            "systemd-resolved resolves names without /etc/resolv.conf".into(),
        ));
    }
    // A resolver on this machine answers at 127.0.0.1, which is what programs ask when no server is named.
    let message = "/etc/resolv.conf has no name server; registries and package indexes cannot be resolved \
                   unless a resolver runs on this machine";
    let (text, commands): (&str, &[&str]) = match facts.system.container.decided()? {
        Some(_) => (
            "Start the container with a name server (replace the example):",
            &["docker run --dns 10.0.0.53 …"],
        ),
        None => (
            "Add your network's name server (replace the example):",
            &["echo 'nameserver 10.0.0.53' | sudo tee -a /etc/resolv.conf"],
        ),
    };
    Ok(Verdict::warning(message, Fix::safe(text, commands)).about(Subject::file("/etc/resolv.conf")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn a_missing_server_is_found_where_there_is_a_route() {
        let mut facts = build_host();
        facts.network.name_servers = Fact::Known(vec![]);
        facts.network.default_route = Fact::Known("eth0".into());
        expect(&CHECK, &facts, "warning", "no name server");
        facts.network.default_route = Fact::Absent;
        expect(&CHECK, &facts, "not-applicable", "");
        facts.network.name_servers = Fact::Known(vec!["10.0.0.53".into()]);
        expect(&CHECK, &facts, "pass", "");
        facts.network.name_servers = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
