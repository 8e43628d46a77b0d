//! A hostfile that DeepSpeed refuses.

use std::collections::BTreeMap;

use crate::read::hostfile::Hostfile;
use crate::rule::{Found, Judge, Rule, Severity, named};
use facts::Facts;

/// The rule.
pub const RULE: Rule = Rule {
    id: "hostfile-invalid",
    severity: Severity::Error,
    summary: "every line of the hostfile is `host slots=N`, and no host stands twice",
    explain: include_str!("hostfile_invalid.md"),
    judge: Judge::Hostfile(judge),
    fires: &[
        named("hostfile", "node1 slots=8\nnode1 slots=8\n"),
        named("hostfile", "node1 slots=8\nnode2: eight gpus\n"),
        named("hostfile", "node1\nnode2\n"),
        named("hostfile", "localhost slots=8\nnode2 slots=8\n"),
    ],
    silent: &[
        named("hostfile", "# nodes\n\nnode1 slots=8\nnode2 slots=4 # smaller\n"),
        named("hostfile", "localhost slots=2\n"),
    ],
};

fn judge((file, _): (&Hostfile, Option<&Facts>)) -> Vec<Found> {
    if file.lines.is_empty() {
        return vec![Found::error(1, "the hostfile has no hosts: DeepSpeed refuses it", "node1 slots=8")];
    }
    // A file without any slots is mpirun's or pdsh's.
    let any = file.lines.iter().any(|line| line.host.is_some() || line.text.contains("slots"));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in &file.lines {
        let Some((host, _)) = &line.host else {
            let says =
                format!("{:?} is no line of a DeepSpeed hostfile: the launcher refuses the file", line.text);
            found.push(Found::error(line.line, says, "node1 slots=8").unless_certain(any && !line.mpi));
            continue;
        };
        if let Some(first) = seen.insert(host, line.line) {
            let says = format!("{host} stands in line {first} already: DeepSpeed refuses the file");
            found.push(Found::error(line.line, says, "one line a host"));
        }
    }
    let local = file.lines.iter().find(|line| {
        line.host.as_ref().is_some_and(|(host, _)| matches!(host.as_str(), "localhost" | "127.0.0.1"))
    });
    if let Some(line) = local.filter(|_| file.lines.len() > 1) {
        let says = "localhost beside other hosts: every node takes it for itself";
        found.push(Found::warning(line.line, says, "the name by which the others reach it"));
    }
    found
}
