//! A list of excluded interfaces with the one that the machine needs.

use crate::kind::Kind;
use crate::read::settings::{Setting, Settings};
use crate::read::values::devices;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "main-interface-excluded",
    severity: Severity::Warning,
    summary: "a list of excluded interfaces names lo, and not the interface that the nodes use",
    explain: include_str!("main_interface_excluded.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named_with(
            "nccl.conf",
            "NCCL_SOCKET_IFNAME=^lo,docker0,eth0\n",
            &[(
                "etc/netplan/50.yaml",
                "network:\n  version: 2\n  ethernets:\n    eth0:\n      dhcp4: true\n",
            )],
        ),
        named("train.env", "NCCL_SOCKET_IFNAME=^lo,docker0,bond0\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=^docker0\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=^=docker0\n"),
    ],
    silent: &[
        named("train.env", "NCCL_SOCKET_IFNAME=^lo,docker0,veth\nGLOO_SOCKET_IFNAME=eth0\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=eth0,bond0\n"),
        named_with(
            "nccl.conf",
            "NCCL_SOCKET_IFNAME=^docker0,eth0,lo\n",
            &[(
                "etc/netplan/50.yaml",
                "network:\n  version: 2\n  ethernets:\n    eth0:\n      dhcp4: \
                 true\n    eth1:\n      dhcp4: true\n",
            )],
        ),
    ],
};

/// Beginnings of the names of interfaces that are there for other machines.
const USUAL: &[&str] = &["eth", "bond", "ens", "enp", "eno", "ib"];

fn judge(settings: &Settings) -> Vec<Found> {
    let known = settings.known().filter(|(_, one, _)| one.name == "NCCL_SOCKET_IFNAME");
    known.filter_map(|(_, one, value)| fault(settings, one, value)).collect()
}

/// NCCL leaves out lo itself only where nothing is set.
fn loopback(one: &Setting, value: &str) -> Found {
    let message = format!(
        "{}={value} does not exclude lo; NCCL then takes lo, and other nodes cannot reach it",
        one.name
    );
    let fix = format!("Write `{value},lo`, or name the interface of the nodes");
    Found::warning(one.location.clone(), message, fix)
}

fn fault(settings: &Settings, one: &Setting, value: &str) -> Option<Found> {
    let list = devices(value);
    // NCCL ignores a value of one character.
    if !list.marks.starts_with('^') || value.len() < 2 {
        return None;
    }
    // NCCL compares with the beginnings of names, unless a `=` follows.
    let is_of = |name: &str, entry: &str| name.starts_with(entry) && (list.marks != "^=" || name == entry);
    let excluded = |name: &str| list.entries.iter().any(|entry| is_of(name, entry));
    if !excluded("lo") {
        return Some(loopback(one, value));
    }
    let machine = settings.interfaces.iter().map(String::as_str).collect::<Vec<_>>();
    if settings.kind == Some(Kind::NcclConf) && !machine.is_empty() {
        let all = machine.iter().all(|name| excluded(name));
        let message = format!(
            "{}={value} excludes {}, the only interfaces that the network configuration next to it has; \
             NCCL finds \
             no socket interface",
            one.name,
            machine.join(", ")
        );
        return all.then(|| Found::warning(one.location.clone(), message, "Remove it from the list"));
    }
    let listed = |entry: &&str| {
        USUAL.iter().any(|usual| {
            entry
                .strip_prefix(usual)
                .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
        })
    };
    let entry = list.entries.iter().copied().find(listed)?;
    let message = format!(
        "^ excludes every entry of the list; {entry} is not used, and NCCL needs another interface between \
         the \
         nodes"
    );
    let fix = format!("To use {entry} alone, write `{}=={entry}`", one.name);
    Some(Found::note(one.location.clone(), message, fix))
}
