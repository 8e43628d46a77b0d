//! A hostfile with names of which nobody here knows the address.

use crate::read::hostfile::Hostfile;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use facts::Facts;

pub(crate) const RULE: Rule = Rule {
    id: "hostfile-name-unresolved",
    severity: Severity::Warning,
    summary: "this machine can resolve every name in the hostfile",
    explain: include_str!("hostfile_name_unresolved.md"),
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
            let message = format!(
                "this machine cannot resolve {name} (`getent ahosts` finds no address); the \
                 launcher fails"
            );
            Found::warning(line, message, "Use its address, or add it to /etc/hosts or DNS").about(name)
        })
        .collect()
}
