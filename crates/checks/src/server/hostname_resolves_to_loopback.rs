//! The own host name leads to the loopback address, on a machine that works with others.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "hostname-resolves-to-loopback",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "the machine's host name resolves to an address that other machines can reach",
    explain: include_str!("hostname_resolves_to_loopback.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const ALONE: &str = "no sign that this machine is part of a cluster";
    let peers = facts.peers();
    if peers == Fact::Absent {
        return Err(Verdict::NotApplicable(ALONE.into()));
    }
    if facts.environment.setting("GLOO_SOCKET_IFNAME").decided()?.is_some() {
        return Err(Verdict::NotApplicable("GLOO_SOCKET_IFNAME sets the interface".into()));
    }
    let name = facts.network.hostname.require("the machine has no host name")?;
    let addresses =
        facts.network.hostname_in_hosts.require("/etc/hosts does not list the host name; DNS decides")?;
    let loopback = |address: &String| address.starts_with("127.") || address == "::1";
    if !addresses.iter().all(loopback) {
        return Ok(Verdict::Pass);
    }
    let peers = peers.require(ALONE)?;
    let message = format!(
        "/etc/hosts maps {name} to {}; Gloo then advertises the loopback address, and other nodes connect to \
         themselves",
        addresses.join(" and ")
    );
    let text =
        "Put the machine's real address into that line of /etc/hosts, or set the interface in every job:";
    let interface = facts.network.default_route.known().map_or("eth0", String::as_str);
    let export = format!("export GLOO_SOCKET_IFNAME={interface}");
    let fix = Fix::safe(text, &["sudoedit /etc/hosts", &export]);
    Ok(Verdict::warning(message, fix)
        .about(Subject::file("/etc/hosts"))
        .evidence(format!("{} {name} (/etc/hosts)", addresses.join(", ")))
        .evidence(peers.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;

    fn named(addresses: &[&str]) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("MASTER_ADDR", "10.0.0.1")]);
        facts.network.hostname = Fact::Known("node1".into());
        facts.network.hostname_in_hosts = Fact::Known(addresses.iter().map(|a| (*a).to_owned()).collect());
        facts
    }

    #[test]
    fn reports_127_0_1_1_entry_on_multi_node_machines() {
        expect(&CHECK, &named(&["127.0.1.1"]), "warning", "127.0.1.1");
        expect(&CHECK, &named(&["127.0.1.1", "10.0.0.7"]), "pass", "");
        let alone = with_variables(named(&["127.0.1.1"]), &[]);
        expect(&CHECK, &alone, "not-applicable", "");
        let configured = with_variables(named(&["127.0.1.1"]), &[("GLOO_SOCKET_IFNAME", "eth0")]);
        expect(&CHECK, &configured, "not-applicable", "");
        let mut unread = alone.clone();
        unread.docker.info = Fact::Unknown("permission denied".into());
        expect(&CHECK, &unread, "unknown", "permission denied");
        let mut unread = named(&[]);
        unread.network.hostname_in_hosts = Fact::Unknown("permission denied".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
