//! Nodes whose engines are one, or are hard to tell from each other.

use docker::swarm::Machine;

use crate::fixes;
use crate::observed_state::ObservedState;
use crate::problem::{Problem, Step};
use diagnostic::Fix;

/// Nodes that are secretly the same engine.
pub(super) fn twice(nodes: &[ObservedState]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let id = &node.machine.id;
        // Machines that were cloned from one image share the id; their host names differ, or where they keep
        // their images.
        let is =
            |machine: &Machine| (machine.id.clone(), machine.hostname.clone(), machine.data_root.clone());
        let same =
            nodes[..index].iter().find(|other| !id.is_empty() && is(&other.machine) == is(&node.machine));
        if let Some(other) = same {
            problems.push(
                Problem::of(
                    Step::Swarm,
                    &node.name,
                    format!("{} and {} are the same Docker engine (id {id})", other.name, node.name),
                )
                .fix(Fix::manual("Give each node its own engine in cluster.yaml"))
                .fix(fixes::restart_engine(
                    "If they are two machines cloned from one image, change one of them: set its host name \
                        (`hostnamectl set-hostname NAME`), delete engine-id below the data-root (older \
                        engines: /etc/docker/key.json) and restart Docker:",
                )),
            );
        }
    }
    problems
}

/// Nodes whose machines have the same host name: no fault here, but confusing elsewhere.
pub fn namesakes(nodes: &[ObservedState]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let name = &node.machine.hostname;
        if let Some(other) =
            nodes[..index].iter().find(|other| !name.is_empty() && other.machine.hostname == *name)
        {
            notes.push(format!(
                "{} and {} have the same host name, {name}; `docker node ls` shows both alike (containers \
                    keep their own names). Rename one with `hostnamectl set-hostname NAME` and restart its \
                    Docker engine",
                other.name, node.name
            ));
        }
    }
    notes
}
