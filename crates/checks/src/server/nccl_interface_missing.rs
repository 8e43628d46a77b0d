//! NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME names no interface that exists and is up.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use diagnostic::shell;
use facts::network::{Interface, InterfaceKind, OperState};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "nccl-interface-missing",
    group: Group::Network,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME name interfaces that exist",
    explain: include_str!("nccl_interface_missing.md"),
    judge,
};

const VARIABLES: &[&str] = &["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"];

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let set: Vec<_> = settings
        .iter()
        .filter(|setting| VARIABLES.contains(&setting.name) && !setting.value.is_empty())
        .collect();
    if set.is_empty() {
        return Err(Verdict::NotApplicable("no variable sets an interface".into()));
    }
    let interfaces = facts.network.interfaces.require("no network interfaces")?;
    for setting in set {
        let wrong = if setting.name.starts_with("NCCL_") {
            nccl(setting.value, interfaces)
        } else {
            exact(setting.value, interfaces)
        };
        let Some(wrong) = wrong else { continue };
        let message =
            format!("{}={}: {wrong}; jobs that read it fail at startup", setting.name, setting.value);
        let usable =
            interfaces.iter().filter(|i| i.kind != InterfaceKind::Loopback && i.state != OperState::Down);
        let usable = usable.filter(|interface| interface.has_ipv4() == Fact::Known(true));
        let names: Vec<&str> = usable.map(|interface| interface.name.as_str()).collect();
        let route = facts.network.default_route.known().map(String::as_str);
        let name = route.or(names.first().copied()).unwrap_or("eth0");
        let command = format!("export {}={}", setting.name, shell::word(name));
        let fix = Fix::safe("Set the interface that reaches the other nodes:", &[&command]);
        return Ok(Verdict::error(message, fix)
            .about(Subject::name(setting.name))
            .evidence(format!("set in {}", setting.source))
            .evidence(format!("interfaces with an address: {}", names.join(", "))));
    }
    Ok(Verdict::Pass)
}

/// `eth,ib` are beginnings of names, `=eth0` whole names, `^docker` what is left out. A port may follow.
fn nccl(value: &str, interfaces: &[Interface]) -> Option<String> {
    let (excluded, list) = value.strip_prefix('^').map_or((false, value), |list| (true, list));
    let (whole, list) = list.strip_prefix('=').map_or((false, list), |list| (true, list));
    let matches = |interface: &&Interface| {
        list.split(',').any(|entry| {
            let name = entry.split(':').next().unwrap_or(entry);
            if whole { interface.name == name } else { interface.name.starts_with(name) }
        })
    };
    let mut found = interfaces.iter().filter(|interface| matches(interface) != excluded).peekable();
    if found.peek().is_none() {
        return Some("no interface matches".into());
    }
    let mut down = found.filter(|interface| interface.state != OperState::Down);
    down.next().is_none().then(|| "all matching interfaces are down".into())
}

fn exact(value: &str, interfaces: &[Interface]) -> Option<String> {
    value.split(',').find_map(|name| match interfaces.iter().find(|interface| interface.name == name) {
        None if name.starts_with(['^', '=']) => {
            Some(format!("Gloo accepts full names only, neither ^ nor =: {name}"))
        }
        None => Some(format!("interface {name} does not exist")),
        Some(interface) => (interface.state == OperState::Down).then(|| format!("{name} is down")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expect, verdict_line};
    use facts::testing::roles::*;

    fn node(variables: &[(&str, &str)]) -> Facts {
        let mut facts = with_variables(gpu_node(), variables);
        let mut down = interface("eth1", true, 1500, "10.1.0.5/24");
        down.state = OperState::Down;
        facts.network.interfaces = Fact::Known(vec![interface("ens3", true, 1500, "10.0.0.5/24"), down]);
        facts
    }

    #[test]
    fn interface_name_is_shell_quoted_in_the_command() {
        let mut facts = node(&[("NCCL_SOCKET_IFNAME", "nosuch")]);
        facts.network.default_route = Fact::Known("a$(id)\u{1b}[2J".into());
        let verdict = crate::judge_one(&CHECK, &facts);
        let commands = &verdict.found().unwrap().fixes[0].commands;
        assert_eq!(commands, &[r#"export NCCL_SOCKET_IFNAME="$(printf 'a$(id)\033[2J')""#]);
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        for (name, value, expected) in [
            ("NCCL_SOCKET_IFNAME", "eth0", "no interface matches"),
            ("NCCL_SOCKET_IFNAME", "=ens", "no interface matches"),
            ("NCCL_SOCKET_IFNAME", "eth1", "are down"),
            ("GLOO_SOCKET_IFNAME", "ens", "interface ens does not exist"),
            ("GLOO_SOCKET_IFNAME", "^lo", "neither ^ nor ="),
        ] {
            expect(&CHECK, &node(&[(name, value)]), "error", expected);
        }
    }

    #[test]
    fn prefixes_and_exclusions_are_understood() {
        for value in ["ens", "=ens3", "^docker,lo", "ib,ens", "ens3:0"] {
            assert_eq!(verdict_line(&CHECK, &node(&[("NCCL_SOCKET_IFNAME", value)])), "pass", "{value}");
        }
        expect(&CHECK, &node(&[]), "not-applicable", "");
        let mut unread = node(&[("NCCL_SOCKET_IFNAME", "ens")]);
        unread.network.interfaces = Fact::Unknown("no /sys".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
