//! `down`: what `up` made is taken away again, and nothing else.

mod leave;
pub(crate) mod removed;

use std::time::Duration;

use diagnostic::Fix;
use docker::fan_out;

use crate::Error;
use crate::former::{self, Former};
use crate::join_marker;
use crate::observed_state::{self, ObservedState};
use crate::plan::{ClusterPlan, LABEL, Node};
use crate::problem::{Problem, Step};
use crate::progress::{Outcome, Progress};
use crate::record;
use crate::report::up::StepEntry;
use crate::request::NetworkKind;
use docker::engine::Engine;
use docker::swarm::{self, State};
use docker::{container, network, volume};

/// How often removing a network is tried: its endpoints end a moment after their containers.
const REMOVE_ATTEMPTS: u32 = 20;
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What `cluster down` removed, kept and could not do.
#[derive(Default)]
pub struct Downed {
    pub steps: Vec<StepEntry>,
    pub problems: Vec<Problem>,
    pub notes: Vec<String>,
}

/// The nodes that are no longer in cluster.yaml, as the reached ones recorded them, and the records that
/// could not be read.
pub async fn former(plan: &ClusterPlan, nodes: &[(&Node, &Engine)]) -> (Vec<Former>, Vec<Problem>) {
    let all = fan_out(nodes.iter().map(|(node, engine)| async move {
        let (machine, recorded) = tokio::join!(swarm::machine(engine), record::read(plan, engine));
        Ok::<_, Error>(ObservedState {
            name: node.name.clone(),
            machine: machine?,
            recorded: recorded?,
            ..ObservedState::default()
        })
    }));
    let (mut observed, mut unread) = (Vec::new(), Vec::new());
    for (found, (node, _)) in all.await.into_iter().zip(nodes) {
        match found {
            Ok(found) => observed.push(found),
            Err(why) => unread.push(not_recorded(plan, node, &why)),
        }
    }
    (former::connect(plan, observed_state::former(plan, &observed)).await, unread)
}

/// The problem of a node whose record of former nodes could not be read.
fn not_recorded(plan: &ClusterPlan, node: &Node, why: &Error) -> Problem {
    let message = format!("nodes that were removed from cluster.yaml could not be looked up: {why}");
    Problem::of(Step::Removed, &node.name, message).closed(why.is_closed()).fix(Fix::run(
        "If cluster.yaml had other nodes before, remove what this shows on their machines:",
        format!("docker ps -a --filter label={LABEL}={}", plan.name),
    ))
}

/// The problem of a former node that was not reached.
pub fn not_cleaned(plan: &ClusterPlan, former: &Former) -> Option<Problem> {
    let why = former.engine.as_ref().err()?;
    let name = &former.recorded.name;
    let message = format!("it is no longer in cluster.yaml, and nothing was removed there: {why}");
    Some(Problem::of(Step::Connect, name, message).fix(Fix::restarts_service(
        "Remove its container and settings on that machine:",
        &[&format!("docker rm -f {name}"), &format!("docker volume rm {}", plan.settings_volume)],
    )))
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
            downed.take(leave::leave(plan, nodes, progress).await);
        }
        fan_out(nodes.iter().map(|(_, engine)| forget_join(plan, engine))).await;
    }
    downed
}

/// Removes the mark of a join that is over. A node whose join failed keeps it, so that the next `up` may
/// clear the attempt.
async fn forget_join(plan: &ClusterPlan, engine: &Engine) {
    let machine = swarm::machine(engine).await;
    let over = machine.is_ok_and(|machine| matches!(machine.swarm.state, State::Active | State::Inactive));
    if over && join_marker::is_set(plan, engine).await == Ok(true) {
        join_marker::remove(plan, engine).await;
    }
}

impl Downed {
    /// Adds what came of something else.
    pub fn take(&mut self, other: Downed) {
        self.steps.extend(other.steps);
        self.problems.extend(other.problems);
        self.notes.extend(other.notes);
    }

    pub(crate) fn done(
        &mut self,
        progress: &Progress,
        step: Step,
        node: &str,
        message: &str,
        outcome: Outcome,
    ) {
        progress.done(step, node, message, outcome);
        self.steps.push(StepEntry { step, node: node.into(), message: message.into(), outcome });
    }

    pub(crate) fn failed(&mut self, progress: &Progress, step: Step, node: &str, why: impl ToString) {
        self.done(progress, step, node, "not removed", Outcome::Failed);
        self.problems.push(
            Problem::of(step, node, why.to_string())
                .fix(Fix::restarts_service("Resume:", &["envdoc cluster down"])),
        );
    }
}

pub(crate) async fn containers(
    plan: &ClusterPlan,
    node: &Node,
    engine: &Engine,
    progress: &Progress,
) -> Downed {
    let mut downed = Downed::default();
    progress.doing(Step::Container, &node.name, "stopping and removing");
    match container::labelled(engine, LABEL, &plan.name).await {
        Err(why) => downed.failed(progress, Step::Container, &node.name, why),
        Ok(names) if names.is_empty() => {
            downed.done(progress, Step::Container, &node.name, "nothing to remove", Outcome::Unchanged);
        }
        Ok(names) => {
            for name in names {
                match container::remove(engine, &name).await {
                    Ok(_) => downed.done(
                        progress,
                        Step::Container,
                        &node.name,
                        &format!("removed {name}"),
                        Outcome::Changed,
                    ),
                    Err(why) => downed.failed(progress, Step::Container, &node.name, why),
                }
            }
        }
    }
    match volume::labelled(engine, LABEL, &plan.name).await {
        Err(why) => downed.failed(progress, Step::Settings, &node.name, why),
        Ok(names) => {
            for name in names.into_iter().filter(|name| *name != join_marker::name(plan)) {
                match volume::remove(engine, &name).await {
                    Ok(_) => downed.done(
                        progress,
                        Step::Settings,
                        &node.name,
                        &format!("removed the volume {name}"),
                        Outcome::Changed,
                    ),
                    Err(why) => downed.failed(progress, Step::Settings, &node.name, why),
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
                downed.failed(progress, Step::Network, &node.name, why);
                continue;
            }
        };
        if found.labels.get(LABEL) != Some(&plan.name) {
            // A worker that has forgotten the labels has the network only as long as a container uses it.
            if found.is_overlay() && node.index > 0 {
                continue;
            }
            downed.notes.push(format!(
                "kept the network {name} on {}: it does not belong to this cluster",
                node.name
            ));
            continue;
        }
        if node.index == 0 {
            progress.doing(Step::Network, &node.name, "removing");
        }
        match removed(engine, name).await {
            Ok(()) => {
                downed.done(progress, Step::Network, &node.name, &format!("removed {name}"), Outcome::Changed)
            }
            // A worker's engine leaves that to the manager.
            Err(_) if node.index > 0 => {}
            Err(why) => downed.failed(progress, Step::Network, &node.name, why),
        }
    }
    if downed.steps.is_empty() && downed.problems.is_empty() {
        downed.done(progress, Step::Network, &plan.name, "the cluster has no network", Outcome::Unchanged);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::UnreadableRecord;
    use crate::testing::two_nodes;

    #[test]
    fn a_record_that_cannot_be_read_is_a_problem() {
        let plan = two_nodes("");
        let record = UnreadableRecord {
            label: "envdoc.nodes",
            volume: "two-node-nodes-2".into(),
            reason: "EOF".into(),
        };
        let problem = not_recorded(&plan, &plan.nodes[0], &record.into());
        assert!(problem.message.contains("volume two-node-nodes-2"), "{problem:?}");
        assert!(problem.fixes[0].commands[0].ends_with("=two-node"), "{problem:?}");
    }
}
