//! A hostfile with names of which nobody here knows the address.

use crate::read::hostfile::Hostfile;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use facts::Facts;

/// The rule.
pub const RULE: Rule = Rule {
    id: "hostfile-name-unresolved",
    severity: Severity::Warning,
    summary: "this machine resolves every name of the hostfile",
    explain: "\
## What it finds
With `--here`: hosts for which `getent ahosts` on this machine finds no address. What ssh's configuration
writes instead
of a name (`ssh -G`: HostName) is looked up in its place; a host that is reached through another one
(ProxyJump,
ProxyCommand) is looked up there, and not judged here. An answer that does not come in time is none.

## Why it matters
The launcher reads the file on this machine and starts every node over ssh by these names: \"Could not
resolve
hostname\" ends it. Inside containers other names hold: there this must be run in the container.

## How to fix it
The address instead of the name, or a line for it in /etc/hosts, DNS, or ~/.ssh/config; `getent ahosts
NAME` tells.

## Sources
- deepspeedai/DeepSpeed@edaa7221 (0.19.6): deepspeed/launcher/runner.py, launcher/multinode_runner.py
- getent(1), ssh(1) and ssh_config(5)
",
    judge: Judge::Hostfile(judge),
    fires: &[named_with("hostfile", "node1 slots=8\nnode2 slots=8\n", &[("names", "node1 yes\nnode2 no\n")])],
    silent: &[
        named_with("hostfile", "node1 slots=8\nnode2 slots=8\n", &[("names", "node1 yes\nnode2 yes\n")]),
        named("hostfile", "node1 slots=8\nnode2 slots=8\n"),
    ],
};

fn judge((file, _): (&Hostfile, Option<&Facts>)) -> Vec<Found> {
    file.hosts()
        .filter(|(_, name)| file.names.get(*name) == Some(&false))
        .map(|(line, name)| {
            let says = format!("this machine knows no address of {name} (getent ahosts finds none)");
            Found::warning(line, says, "its address instead of the name, or a line for it in /etc/hosts")
        })
        .collect()
}
