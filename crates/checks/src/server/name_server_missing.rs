//! The machine has a default route but no name server.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub const CHECK: Check = Check {
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
    facts.network.default_route.require("there is no default route")?;
    if facts
        .network
        .name_services
        .decided()?
        .is_some_and(|all| all.iter().any(|service| service == "resolve"))
    {
        return Err(Verdict::NotApplicable("systemd-resolved is asked without /etc/resolv.conf".into()));
    }
    // A resolver on this machine answers at 127.0.0.1, which is what programs ask when no server is named.
    let says = "/etc/resolv.conf names no name server: names of registries and package indexes cannot be looked up, unless a \
                resolver runs on this very machine";
    let (text, commands): (&str, &[&str]) = match facts.system.container.decided()? {
        Some(_) => ("Start the container with a server.", &["docker run --dns 10.0.0.53 …"]),
        None => (
            "Name your network's server in place of the example.",
            &["echo 'nameserver 10.0.0.53' | sudo tee -a /etc/resolv.conf"],
        ),
    };
    Ok(Verdict::warning(says, Fix::safe(text, commands)))
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
