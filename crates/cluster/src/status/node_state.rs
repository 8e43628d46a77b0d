//! The parts of a node's state: its swarm, its network, its container.

use docker::container::Found;
use docker::swarm::{Member, State};

use super::NodeStatus;
use super::jobs::FirstNode;
use crate::not_running;
use crate::observed_state::ObservedState;
use crate::oom;
use crate::plan::{ClusterPlan, LABEL};

pub(super) fn in_swarm(
    observed: &ObservedState,
    members: &Result<Vec<Member>, FirstNode>,
    differs: &mut Vec<String>,
) -> String {
    let swarm = &observed.machine.swarm;
    match swarm.state {
        State::Inactive => {
            differs.push("not in a swarm".into());
            "none".into()
        }
        State::Pending => {
            differs.push("still joining the swarm".into());
            "joining".into()
        }
        State::Locked => {
            differs.push("the swarm is locked; unlock it: `docker swarm unlock`".into());
            "locked".into()
        }
        State::Error => {
            differs.push(format!("the swarm reports an error: {}", swarm.error));
            "error".into()
        }
        State::Active => as_member(observed, members, differs),
    }
}

/// What the manager says of a node that takes part in a swarm.
fn as_member(
    observed: &ObservedState,
    members: &Result<Vec<Member>, FirstNode>,
    differs: &mut Vec<String>,
) -> String {
    let swarm = &observed.machine.swarm;
    let members = match members {
        Ok(members) => members,
        Err(why) => {
            differs.push(format!("could not read the swarm's members from the first node: {why}"));
            return "active".into();
        }
    };
    match members.iter().find(|member| member.id == swarm.node) {
        Some(member) if member.ready => "ready".into(),
        Some(member) => {
            differs.push(format!("the manager cannot reach this node: {}", member.status));
            "down".into()
        }
        None => {
            differs.push(format!("member of a different swarm ({})", swarm.managers.join(", ")));
            "another".into()
        }
    }
}

pub(super) fn in_network(plan: &ClusterPlan, observed: &ObservedState, row: &mut NodeStatus) {
    match &observed.network {
        Some(network) => row.network = Some(network.name.clone()),
        // A worker shows an overlay only as long as a container uses it.
        None if observed.container.as_ref().is_some_and(|container| container.running) => {
            row.differs.push(format!("network {} is missing", plan.network.name));
        }
        None => {}
    }
}

pub(super) fn in_container(plan: &ClusterPlan, observed: &ObservedState, row: &mut NodeStatus) {
    let Some(container) = &observed.container else {
        row.container = Some("none".into());
        row.differs.push(format!("container {} is missing", observed.name));
        return;
    };
    if container.labels.get(LABEL) != Some(&plan.name) {
        row.container = Some("foreign".into());
        row.differs.push(format!("container {} does not belong to this cluster", observed.name));
        return;
    }
    row.health.clone_from(&container.health);
    match container.running {
        true => runs(observed, container, row),
        false => does_not_run(container, row),
    }
    if observed.image.as_ref().is_some_and(|image| image.id != container.image) {
        row.differs.push(format!(
            "the container uses an older {}; recreate it: `envdoc cluster up`",
            plan.image_name()
        ));
    }
    if container.restarts > 0 {
        row.differs.push(format!("the container restarted {} times", container.restarts));
    }
}

fn runs(observed: &ObservedState, container: &Found, row: &mut NodeStatus) {
    row.container = Some(container.status.clone());
    row.since = Some(container.since.clone());
    // A paused container answers no health check.
    if container.paused() {
        row.differs.push("the container is paused".into());
        row.fixes.push(not_running::unpause(&observed.name, &observed.name));
    } else if container.health.as_deref() == Some("starting") {
        row.differs.push("the health check has not passed yet since the container started".into());
    } else if container.health.as_deref() == Some("unhealthy") {
        let output = container.health_output.as_str();
        let output = if output.is_empty() { "it prints nothing" } else { output };
        row.differs.push(format!("the health check fails: {output}"));
    }
}

fn does_not_run(container: &Found, row: &mut NodeStatus) {
    let exit = container.exit.map_or(String::new(), |exit| format!(" ({exit})"));
    row.container = Some(format!("{}{exit}", container.status));
    let memory = oom::reported(container);
    let error = if container.error.is_empty() { String::new() } else { format!(": {}", container.error) };
    row.differs.push(format!("the container is not running{memory}{error}; start it: `envdoc cluster up`"));
}
