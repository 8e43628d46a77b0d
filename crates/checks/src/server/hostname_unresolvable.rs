//! Nothing leads from the machine's own name to an address.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "hostname-unresolvable",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "the machine's host name resolves to an address",
    explain: include_str!("hostname_unresolvable.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let name = facts.network.hostname.require("the machine has no host name")?;
    if facts.network.hostname_in_hosts.decided()?.is_some() || name == "localhost" {
        return Ok(Verdict::Pass);
    }
    // Without a line glibc asks name servers and then the file.
    let services =
        facts.network.name_services.decided()?.cloned().unwrap_or_else(|| vec!["dns".into(), "files".into()]);
    let has = |service: &str| services.iter().any(|name| name == service);
    if has("myhostname") {
        return Ok(Verdict::Pass);
    }
    let other = services
        .iter()
        .find(|name| !matches!(name.as_str(), "files" | "dns" | "mdns4_minimal" | "mdns4" | "mdns"));
    if let Some(other) = other {
        return Err(Verdict::NotApplicable(format!(
            "/etc/hosts does not list the host name; the name service {other} decides"
        )));
    }
    if has("dns") && facts.network.name_servers.decided()?.is_some_and(|servers| !servers.is_empty()) {
        return Err(Verdict::NotApplicable("/etc/hosts does not list the host name; DNS decides".into()));
    }
    let message = format!("host name {name} does not resolve to an address; Gloo falls back to loopback");
    let command = format!("echo {} | sudo tee -a /etc/hosts", shell::quoted(&format!("127.0.1.1 {name}")));
    let fix =
        Fix::safe("Add the host name to /etc/hosts (on a cluster node, use its real address):", &[&command]);
    Ok(Verdict::warning(message, fix)
        .evidence(format!("{name} is not in /etc/hosts; no name server is configured")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn reports_host_name_without_hosts_entry_or_dns() {
        let mut facts = build_host();
        facts.network.hostname = Fact::Known("node1".into());
        facts.network.hostname_in_hosts = Fact::Absent;
        facts.network.name_services = Fact::Known(vec!["files".into(), "dns".into()]);
        facts.network.name_servers = Fact::Known(vec![]);
        expect(&CHECK, &facts, "warning", "node1");
        facts.network.name_servers = Fact::Known(vec!["10.0.0.53".into()]);
        expect(&CHECK, &facts, "not-applicable", "");
        facts.network.name_services = Fact::Known(vec!["files".into(), "myhostname".into()]);
        expect(&CHECK, &facts, "pass", "");
        facts.network.hostname_in_hosts = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
