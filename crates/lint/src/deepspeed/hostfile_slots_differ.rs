//! A hostfile with other slots than GPUs.

use crate::read::hostfile::{Container, Hostfile};
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
        named_with(
            "hostfile",
            "worker-0 slots=8\nworker-1 slots=8\n",
            &[(
                "compose.yaml",
                "services:\n  worker-0:\n    image: a\n    gpus: [{device_ids: [\"0\", \"1\", \"2\", \"3\"], \
                 capabilities: [gpu]}]\n  worker-1:\n    image: a\n    gpus: [{count: 4, capabilities: \
                 [gpu]}]\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "hostfile",
            "worker-0 slots=4\nworker-1 slots=8\nnode7 slots=8\n",
            &[(
                "compose.yaml",
                "services:\n  worker-0:\n    image: a\n    gpus: [{count: 4, capabilities: [gpu]}]\n  \
                 worker-1:\n    \
                 image: a\n    gpus: all\n  other:\n    image: a\n    gpus: [{count: 1, capabilities: \
                 [gpu]}]\n",
            )],
        ),
        named_with(
            "hostfile",
            "worker-0 slots=8\n",
            &[("compose.yaml", "services:\n  worker-0:\n    image: a\n    runtime: nvidia\n")],
        ),
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
            let own = |one: &&Container| one.names.iter().any(|name| name == host);
            if let Some(one) = file.containers.iter().find(own).filter(|one| *slots > one.gpus) {
                let message = format!(
                    "{host} has slots={slots}, but {} gives the container {} GPUs; the extra ranks fail with \
                     `invalid device ordinal`",
                    one.file, one.gpus
                );
                let fix = format!("Write `{host} slots={}`, or give the container {slots} GPUs", one.gpus);
                return Some(Found::warning(line, message, fix).about(host));
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
