//! `down`: what `up` made is taken away again, and nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use docker::fan_out;

use super::plan::{ClusterPlan, LABEL, Node};
use super::problem::Problem;
use super::request::NetworkKind;
use crate::report::progress::{Outcome, Progress};
use crate::report::up::StepEntry;
use docker::engine::Engine;
use docker::swarm::{self, State};
use docker::{container, network, volume};

/// How often removing a network is tried: its endpoints end a moment after their containers.
const REMOVE_ATTEMPTS: u32 = 20;
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What came of it.
#[derive(Default)]
pub struct Downed {
    /// What was done.
    pub steps: Vec<StepEntry>,
    /// What could not be.
    pub problems: Vec<Problem>,
    /// What should be known.
    pub notes: Vec<String>,
}

/// Takes it down on the nodes that can be reached.
pub async fn down(
    plan: &ClusterPlan,
    nodes: &[(&Node, &Engine)],
    leave_swarm: bool,
    progress: &Progress,
) -> Downed {
    let mut downed = Downed::default();
    let all = fan_out(nodes.iter().map(|(node, engine)| containers(plan, node, engine, progress))).await;
    all.into_iter().for_each(|part| downed.take(part));
    if plan.network.kind == NetworkKind::Overlay {
        downed.take(network_of(plan, nodes, progress).await);
        if leave_swarm {
            downed.take(leave(plan, nodes, progress).await);
        }
    }
    downed
}

impl Downed {
    fn take(&mut self, other: Downed) {
        self.steps.extend(other.steps);
        self.problems.extend(other.problems);
        self.notes.extend(other.notes);
    }

    fn done(&mut self, progress: &Progress, step: &str, node: &str, says: &str, outcome: Outcome) {
        progress.done(step, node, says, outcome);
        self.steps.push(StepEntry { step: step.into(), node: node.into(), says: says.into(), outcome });
    }

    fn failed(&mut self, progress: &Progress, step: &str, node: &str, why: impl ToString) {
        self.done(progress, step, node, "not removed", Outcome::Failed);
        self.problems.push(Problem::of(step, node, why.to_string()).fix("Resume: `envdoc cluster down`"));
    }
}

async fn containers(plan: &ClusterPlan, node: &Node, engine: &Engine, progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    progress.doing("container", &node.name, "stopping and removing");
    match container::labelled(engine, LABEL, &plan.name).await {
        Err(why) => downed.failed(progress, "container", &node.name, why),
        Ok(names) if names.is_empty() => {
            downed.done(progress, "container", &node.name, "nothing to remove", Outcome::Unchanged);
        }
        Ok(names) => {
            for name in names {
                match container::remove(engine, &name).await {
                    Ok(_) => downed.done(
                        progress,
                        "container",
                        &node.name,
                        &format!("removed {name}"),
                        Outcome::Changed,
                    ),
                    Err(why) => downed.failed(progress, "container", &node.name, why),
                }
            }
        }
    }
    match volume::labelled(engine, LABEL, &plan.name).await {
        Err(why) => downed.failed(progress, "settings", &node.name, why),
        Ok(names) => {
            for name in names {
                match volume::remove(engine, &name).await {
                    Ok(_) => downed.done(
                        progress,
                        "settings",
                        &node.name,
                        &format!("removed the volume {name}"),
                        Outcome::Changed,
                    ),
                    Err(why) => downed.failed(progress, "settings", &node.name, why),
                }
            }
        }
    }
    downed
}

/// The overlay, which a manager removes, where it is the cluster's.
async fn network_of(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    let name = &plan.network.name;
    for (node, engine) in nodes {
        let found = match network::inspect(engine, name).await {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                downed.failed(progress, "network", &node.name, why);
                continue;
            }
        };
        if found.labels.get(LABEL) != Some(&plan.name) {
            // A worker that has forgotten the labels has the network only as long as a container uses it.
            if found.driver == "overlay" && node.index > 0 {
                continue;
            }
            downed.notes.push(format!(
                "kept the network {name} on {}: it does not belong to this cluster",
                node.name
            ));
            continue;
        }
        if node.index == 0 {
            progress.doing("network", &node.name, "removing");
        }
        match removed(engine, name).await {
            Ok(()) => {
                downed.done(progress, "network", &node.name, &format!("removed {name}"), Outcome::Changed)
            }
            // A worker's engine leaves that to the manager.
            Err(_) if node.index > 0 => {}
            Err(why) => downed.failed(progress, "network", &node.name, why),
        }
    }
    if downed.steps.is_empty() && downed.problems.is_empty() {
        downed.done(progress, "network", &plan.name, "the cluster has no network", Outcome::Unchanged);
    }
    downed
}

async fn removed(engine: &Engine, name: &str) -> Result<(), docker::Error> {
    let mut last = Ok(());
    for _ in 0..REMOVE_ATTEMPTS {
        match network::remove(engine, name).await {
            Ok(_) => return Ok(()),
            Err(why) if *why.cause() == docker::Cause::InUse => last = Err(why),
            Err(why) => return Err(why),
        }
        tokio::time::sleep(REMOVE_RETRY_INTERVAL).await;
    }
    last
}

/// The workers, then the manager, where nobody else is in the swarm.
async fn leave(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    let mut machines = BTreeMap::new();
    for (node, engine) in nodes {
        match swarm::machine(engine).await {
            Ok(machine) => drop(machines.insert(node.name.as_str(), machine)),
            Err(why) => downed.failed(progress, "swarm", &node.name, why),
        }
    }
    let Some((leader, manager)) = nodes.iter().find(|(node, _)| node.index == 0) else {
        downed.problems.push(Problem::new(
            "swarm",
            "the first node is unreachable; no node can leave the swarm without its manager",
        ));
        return downed;
    };
    let of_leader = machines.get(leader.name.as_str()).map(|machine| machine.swarm.manager).unwrap_or(false);
    let members = if of_leader { swarm::members(manager).await.unwrap_or_default() } else { Vec::new() };
    let is_ours = |id: &str| machines.values().any(|machine| machine.swarm.node == id);
    let of_this_plan = |hostname: &str| machines.values().any(|machine| machine.hostname == hostname);
    let strangers: Vec<_> = members
        .iter()
        .filter(|member| !is_ours(&member.id) && (member.ready || !of_this_plan(&member.hostname)))
        .map(|member| member.hostname.clone())
        .collect();
    if !strangers.is_empty() {
        downed.problems.push(
            Problem::of(
                "swarm",
                &leader.name,
                format!(
                    "the swarm has members outside the cluster {}: {}; no node leaves it",
                    plan.name,
                    strangers.join(", ")
                ),
            )
            .fix("Remove single nodes from the swarm, on each of them: `docker swarm leave`"),
        );
        return downed;
    }
    // The first one last: it lets the others go.
    for (node, engine) in nodes.iter().rev() {
        let Some(machine) = machines.get(node.name.as_str()) else { continue };
        let swarm = &machine.swarm;
        let ours = swarm.state == State::Inactive
            || members.iter().any(|member| member.id == swarm.node)
            || swarm.node.is_empty();
        if swarm.state == State::Inactive {
            downed.done(progress, "swarm", &node.name, "not in a swarm", Outcome::Unchanged);
        } else if !ours {
            downed.notes.push(format!(
                "{} is a member of a different swarm ({}) and stays there",
                node.name,
                swarm.managers.join(", ")
            ));
        } else {
            match swarm::leave(engine, true).await {
                Ok(()) => downed.done(progress, "swarm", &node.name, "left the swarm", Outcome::Changed),
                Err(why) => downed.failed(progress, "swarm", &node.name, why),
            }
        }
    }
    downed
}
