//! The parts of a node's state: its swarm, its network, its container.

use std::fmt;

use docker::container::{Found, Health, Status};
use docker::swarm::{Member, State};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::NodeStatus;
use super::jobs::FirstNode;
use crate::not_running;
use crate::observed_state::ObservedState;
use crate::oom;
use crate::plan::{ClusterPlan, LABEL};

/// How a node takes part in the swarm of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SwarmState {
    /// In no swarm.
    None,
    /// It asked a manager to join, and waits for the answer.
    Joining,
    /// It waits for the key of its swarm.
    Locked,
    /// Its engine reports an error.
    Error,
    /// A member, as far as it knows itself.
    Active,
    /// A member that the manager reaches.
    Ready,
    /// A member that the manager does not reach.
    Down,
    /// In a different swarm.
    Another,
}

impl fmt::Display for SwarmState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SwarmState::None => "none",
            SwarmState::Joining => "joining",
            SwarmState::Locked => "locked",
            SwarmState::Error => "error",
            SwarmState::Active => "active",
            SwarmState::Ready => "ready",
            SwarmState::Down => "down",
            SwarmState::Another => "another",
        })
    }
}

/// A node's container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerState {
    None,
    /// One with its name does not belong to the cluster.
    Foreign,
    Found {
        /// What it does.
        status: Status,
        /// Its exit status, where it has ended.
        exit: Option<i64>,
    },
    /// The engine did not tell, and why.
    Unknown(String),
}

impl From<&Found> for ContainerState {
    fn from(found: &Found) -> ContainerState {
        ContainerState::Found { status: found.status, exit: found.exit }
    }
}

impl fmt::Display for ContainerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContainerState::None => f.write_str("none"),
            ContainerState::Foreign => f.write_str("foreign"),
            ContainerState::Found { status, exit: None } => write!(f, "{status}"),
            ContainerState::Found { status, exit: Some(exit) } => write!(f, "{status} ({exit})"),
            ContainerState::Unknown(why) => f.write_str(why),
        }
    }
}

impl Serialize for ContainerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

pub(super) fn in_swarm(
    observed: &ObservedState,
    members: &Result<Vec<Member>, FirstNode>,
    differs: &mut Vec<String>,
) -> SwarmState {
    let swarm = &observed.machine.swarm;
    match swarm.state {
        State::Inactive => {
            differs.push("not in a swarm".into());
            SwarmState::None
        }
        State::Pending => {
            differs.push("still joining the swarm".into());
            SwarmState::Joining
        }
        State::Locked => {
            differs.push("the swarm is locked; unlock it: `docker swarm unlock`".into());
            SwarmState::Locked
        }
        State::Error => {
            differs.push(format!("the swarm reports an error: {}", swarm.error));
            SwarmState::Error
        }
        State::Active => as_member(observed, members, differs),
    }
}

/// What the manager says of a node that takes part in a swarm.
fn as_member(
    observed: &ObservedState,
    members: &Result<Vec<Member>, FirstNode>,
    differs: &mut Vec<String>,
) -> SwarmState {
    let swarm = &observed.machine.swarm;
    let members = match members {
        Ok(members) => members,
        Err(why) => {
            differs.push(format!("could not read the swarm's members from the first node: {why}"));
            return SwarmState::Active;
        }
    };
    match members.iter().find(|member| member.id == swarm.node) {
        Some(member) if member.ready => SwarmState::Ready,
        Some(member) => {
            differs.push(format!("the manager cannot reach this node: {}", member.status));
            SwarmState::Down
        }
        None => {
            differs.push(format!("member of a different swarm ({})", swarm.managers.join(", ")));
            SwarmState::Another
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
        row.container = Some(ContainerState::None);
        row.differs.push(format!("container {} is missing", observed.name));
        return;
    };
    if container.labels.get(LABEL) != Some(&plan.name) {
        row.container = Some(ContainerState::Foreign);
        row.differs.push(format!("container {} does not belong to this cluster", observed.name));
        return;
    }
    row.health = container.health;
    row.container = Some(container.into());
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
    row.since = Some(container.since.clone());
    // A paused container answers no health check.
    if container.paused() {
        row.differs.push("the container is paused".into());
        row.fixes.push(not_running::unpause(&observed.name, &observed.name));
    } else if container.health == Some(Health::Starting) {
        row.differs.push("the health check has not passed yet since the container started".into());
    } else if container.health == Some(Health::Unhealthy) {
        let output = container.health_output.as_str();
        let output = if output.is_empty() { "it prints nothing" } else { output };
        row.differs.push(format!("the health check fails: {output}"));
    }
}

fn does_not_run(container: &Found, row: &mut NodeStatus) {
    let memory = oom::reported(container);
    let error = if container.error.is_empty() { String::new() } else { format!(": {}", container.error) };
    row.differs.push(format!("the container is not running{memory}{error}; start it: `envdoc cluster up`"));
}
