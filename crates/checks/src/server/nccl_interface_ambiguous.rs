//! NCCL would choose among interfaces of which some lead nowhere.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::at_least;
use facts::network::{Interface, InterfaceKind, OperState};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "nccl-interface-ambiguous",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "NCCL selects an interface that reaches the other nodes",
    explain: include_str!("nccl_interface_ambiguous.md"),
    judge,
};

/// Whether each NCCL that is in use here is at least this one.
fn has_nccl(facts: &Facts, since: &str) -> bool {
    let Some(environments) = facts.python.environments.known() else { return false };
    let mut any = false;
    for environment in environments.iter().filter(|environment| environment.active()) {
        let Some(packages) = environment.packages.known() else { return false };
        for wheel in packages.iter().filter(|package| package.name.starts_with("nvidia-nccl-cu")) {
            if at_least(&wheel.version, since) != Some(true) {
                return false;
            }
            any = true;
        }
    }
    any
}

/// The interfaces that may carry NCCL's traffic: up, with IPv4.
fn usable(interfaces: &[Interface]) -> Result<Vec<&Interface>, Verdict> {
    let mut usable = Vec::new();
    for interface in
        interfaces.iter().filter(|i| i.state != OperState::Down && i.kind != InterfaceKind::Loopback)
    {
        if *interface.has_ipv4().require("no IPv4 addresses")? {
            usable.push(interface);
        }
    }
    Ok(usable)
}

fn judge(facts: &Facts) -> Judged {
    const ALONE: &str = "no sign that this machine is part of a cluster";
    let peers = facts.peers();
    if peers == Fact::Absent {
        return Err(Verdict::NotApplicable(ALONE.into()));
    }
    if facts.environment.setting("NCCL_SOCKET_IFNAME").decided()?.is_some() {
        return Err(Verdict::NotApplicable("NCCL_SOCKET_IFNAME sets the interface".into()));
    }
    let interfaces = facts.network.interfaces.require("no network interfaces")?;
    let usable = usable(interfaces)?;
    if usable.iter().any(|interface| interface.name.starts_with("ib")) {
        return Ok(Verdict::Pass);
    }
    let skipped_since = |name: &str| facts.catalog.network_interfaces().nccl_skips_since(name);
    let skipped = |name: &str| skipped_since(name).is_some_and(|since| has_nccl(facts, since));
    let candidates: Vec<&str> = usable
        .iter()
        .map(|interface| interface.name.as_str())
        .filter(|name| !(name.starts_with("docker") || skipped(name)))
        .collect();
    let local = |name: &&&str| facts.catalog.network_interfaces().is_local(name);
    let wrong: Vec<&str> = candidates.iter().filter(local).copied().collect();
    if wrong.is_empty() {
        return Ok(Verdict::Pass);
    }
    let peers = peers.require(ALONE)?;
    // Where newer releases leave all of them out, the message names the older ones.
    let newer: Option<Vec<&str>> = wrong.iter().map(|name| skipped_since(name)).collect();
    let newer = newer.and_then(|all| all.first().copied());
    let message = format!(
        "NCCL{} would use {}, but {} lead{} only to containers or virtual machines on this node; other nodes \
         cannot connect to it",
        newer.map_or(String::new(), |since| format!(" before {since}")),
        candidates.join(", "),
        wrong.join(", "),
        if wrong.len() == 1 { "s" } else { "" }
    );
    let route = facts.network.default_route.known().map(String::as_str);
    let right = candidates.iter().find(|name| !wrong.contains(name)).copied();
    let name = route.filter(|name| !wrong.contains(name)).or(right).unwrap_or("eth0");
    let nccl = format!("export NCCL_SOCKET_IFNAME=={name}");
    let gloo = format!("export GLOO_SOCKET_IFNAME={name}");
    let fix = Fix::safe("Set the interface that reaches the other nodes, in every job:", &[&nccl, &gloo]);
    Ok(Verdict::warning(message, fix)
        .evidence(format!("interfaces with an address: {}", candidates.join(", ")))
        .evidence(peers.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;
    use facts::testing::*;

    fn node(names: &[&str]) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("MASTER_ADDR", "10.0.0.1")]);
        let all =
            names.iter().map(|name| interface(name, name.starts_with('e'), 1500, &format!("{name}/24")));
        facts.network.interfaces = Fact::Known(all.collect());
        facts
    }

    #[test]
    fn bridges_among_the_candidates_are_found() {
        expect(&CHECK, &node(&["ens3", "virbr0", "docker0"]), "warning", "virbr0 leads only");
        expect(&CHECK, &node(&["ens3", "docker0"]), "pass", "");
        let with_nccl = |wheel: &str| {
            let mut facts = node(&["ens3", "virbr0"]);
            facts.python = files::machine(&files::venv("2.5.1+cu124 12.4", &[wheel])).python;
            facts
        };
        expect(&CHECK, &with_nccl("nvidia_nccl_cu12-2.28.9"), "pass", "");
        expect(&CHECK, &with_nccl("nvidia_nccl_cu12-2.21.5"), "warning", "NCCL before 2.28.3");
        expect(&CHECK, &node(&["ib0", "virbr0"]), "pass", "");
        expect(&CHECK, &with_variables(node(&["ens3", "virbr0"]), &[]), "not-applicable", "");
        let named = with_variables(node(&["ens3", "virbr0"]), &[("NCCL_SOCKET_IFNAME", "=ens3")]);
        expect(&CHECK, &named, "not-applicable", "");
        let mut unread = node(&[]);
        unread.network.interfaces = Fact::Unknown("no /sys".into());
        expect(&CHECK, &unread, "unknown", "");
    }

    #[test]
    fn unread_addresses_or_peers_are_unknown() {
        let mut facts = node(&["ens3", "virbr0"]);
        if let Fact::Known(interfaces) = &mut facts.network.interfaces {
            for interface in interfaces {
                interface.networks = Fact::Unknown("route: permission denied".into());
                interface.ipv4 = interface.networks.clone();
            }
        }
        expect(&CHECK, &facts, "unknown", "route: permission denied");
        let mut facts = with_variables(node(&["ens3", "virbr0"]), &[]);
        facts.docker.info = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "permission denied");
    }
}
