//! A hostfile with other slots than GPUs.

use crate::read::hostfile::Hostfile;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use facts::Facts;

pub(crate) const RULE: Rule = Rule {
    id: "hostfile-slots-differ",
    severity: Severity::Warning,
    summary: "the slots of a host equal its GPUs",
    explain: include_str!("hostfile_slots_differ.md"),
    judge: Judge::Hostfile(judge),
    fires: &[
        named_with(
            "hostfile",
            "node1 slots=16\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
        named("hostfile", "node1 slots=8\nnode2 slots=0\n"),
    ],
    silent: &[
        named_with(
            "hostfile",
            "node1 slots=8\nnode2 slots=8\n",
            &[("server.json", "healthy-h100-x8-sxm-ubuntu-22.04.json")],
        ),
        named("hostfile", "node1 slots=16\n"),
    ],
};

fn judge((file, facts): (&Hostfile, Option<&Facts>)) -> Vec<Found> {
    let gpus = facts.and_then(|facts| facts.gpu.list.known()).map(|gpus| gpus.len() as u64);
    let lines = file.lines.iter().filter_map(|line| Some((line.line, line.host.as_ref()?)));
    lines
        .filter_map(|(line, (host, slots))| {
            if *slots == 0 {
                let message = format!("{host} has slots=0; no process is started on it");
                return Some(Found::warning(line, message, "Remove the line").about(host));
            }
            let gpus = gpus.filter(|gpus| *gpus > 0 && slots > gpus)?;
            let message = format!(
                "{host} has slots={slots}, but the machine has {gpus} GPUs; the extra ranks fail \
                 with invalid device ordinal"
            );
            Some(Found::warning(line, message, format!("Write `{host} slots={gpus}`")).about(host))
        })
        .collect()
}
