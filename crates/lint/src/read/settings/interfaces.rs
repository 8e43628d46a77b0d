//! The interfaces of a machine, from the files that configure its network.

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::file::Over;
use crate::read::compose::below;

/// Kinds of interfaces in netplan.
const NETPLAN: &[&str] = &["ethernets", "bonds", "bridges", "vlans", "tunnels", "wifis", "modems", "vrfs"];

/// The names of all interfaces; none where a file names them by a pattern.
pub(super) fn interfaces(files: &[Over]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for file in files {
        let Some(names) = of_file(file) else { return Vec::new() };
        found.extend(names);
    }
    found.remove("lo");
    found.into_iter().collect()
}

/// The names in one file; nothing where it has patterns.
fn of_file(file: &Over) -> Option<Vec<String>> {
    let base = file.name.rsplit('/').next().unwrap_or_default();
    let values = |key: &str| {
        let lines = file
            .text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix('='));
        lines.map(|value| value.trim().to_owned()).collect::<Vec<_>>()
    };
    let names = if base.ends_with(".yaml") || base.ends_with(".yml") {
        netplan(&file.text)?
    } else if let Some(name) = base.strip_prefix("ifcfg-") {
        vec![name.to_owned()]
    } else if base.ends_with(".network") {
        values("Name")
    } else if base.ends_with(".nmconnection") {
        values("interface-name")
    } else {
        let iface =
            |line: &str| Some(line.trim().strip_prefix("iface ")?.split_whitespace().next()?.to_owned());
        file.text.lines().filter_map(iface).collect()
    };
    let plain = names.iter().all(|name| !name.contains(['*', '?', '[', '!', ' ']));
    (plain && !names.is_empty()).then_some(names)
}

fn netplan(text: &str) -> Option<Vec<String>> {
    let root: Value = serde_yaml::from_str(text).ok()?;
    let mut names = Vec::new();
    for kind in NETPLAN {
        let Some(all) = below(&root, &["network", kind]).and_then(Value::as_mapping) else { continue };
        for (name, value) in all {
            let matched = below(value, &["match"]).is_some();
            match below(value, &["set-name"]).and_then(Value::as_str) {
                Some(name) => names.push(name.to_owned()),
                // The key is then a name of this file alone.
                None if matched => return None,
                None => names.push(name.as_str()?.to_owned()),
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_kinds_of_files() {
        let of = |files: &[(&str, &str)]| {
            let files: Vec<Over> = files.iter().map(|(name, text)| Over::new(*name, *text)).collect();
            interfaces(&files).join(" ")
        };
        let netplan = "network:\n  version: 2\n  ethernets:\n    a:\n      match: {macaddress: \
         \"0e:1f\"}\n      \
            set-name: eth0\n    eth1: {dhcp4: true}\n  bonds:\n    bond0: {interfaces: [eth1]}\n";
        assert_eq!(of(&[("netplan/1.yaml", netplan)]), "bond0 eth0 eth1");
        assert_eq!(
            of(&[("network-scripts/ifcfg-ib0", ""), ("a.network", "[Match]\nName=eth0\n")]),
            "eth0 ib0"
        );
        assert_eq!(of(&[("a.network", "[Match]\nName=en*\n"), ("network-scripts/ifcfg-ib0", "")]), "");
        assert_eq!(
            of(&[("network/interfaces", "auto lo eth0\niface lo inet loopback\niface eth0 inet dhcp\n")]),
            "eth0"
        );
    }
}
