//! `status`: what is there of a cluster, node by node, and what differs from its plan.

use docker::fan_out;
use schemars::JsonSchema;
use serde::Serialize;

use super::observed_state::{self, ObservedState};
use super::plan::{ClusterPlan, LABEL, Node};
use super::problem::Problem;
use super::request::NetworkKind;
use docker::engine::Engine;
use docker::swarm::{self, Member, State};

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeStatus {
    /// Its name.
    pub node: String,
    /// Its engine's name and version; `None` where it cannot be reached.
    pub engine: Option<String>,
    /// `ready`, `joining`, `none`, …; `None` where no swarm is wanted.
    pub swarm: Option<String>,
    /// Whether it has the network.
    pub network: Option<String>,
    /// The id of its image.
    pub image: Option<String>,
    /// `running`, `exited (1)`, `none`.
    pub container: Option<String>,
    /// `healthy`, `starting`, `unhealthy`.
    pub health: Option<String>,
    /// When the container was started last, as RFC 3339.
    pub since: Option<String>,
    /// What differs from the plan, each a sentence.
    pub differs: Vec<String>,
    /// What to do where the node could not be asked, each a sentence or a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<String>,
}

/// Asks all nodes that can be reached.
pub async fn status(plan: &ClusterPlan, nodes: &[(&Node, Result<&Engine, &Problem>)]) -> Vec<NodeStatus> {
    let observed = fan_out(nodes.iter().map(|(node, engine)| async move {
        match engine {
            Ok(engine) => observed_state::one(plan, node, engine).await.map_err(|why| why.to_string()),
            Err(problem) => Err(problem.says.clone()),
        }
    }))
    .await;
    let members = match nodes.first() {
        Some((_, Ok(engine))) if plan.network.kind == NetworkKind::Overlay => {
            swarm::members(engine).await.ok()
        }
        _ => None,
    };
    let reference = observed.iter().flatten().find_map(|observed| observed.image.clone());
    nodes
        .iter()
        .zip(observed)
        .map(|((node, engine), observed)| match observed {
            Ok(observed) => {
                let mut row = of(plan, &observed, members.as_deref());
                row.engine = engine.ok().map(|engine| engine.name.clone());
                if let (Some(image), Some(reference)) = (&observed.image, &reference)
                    && !image.same(reference)
                {
                    row.differs.push(format!(
                        "its image {} differs from that of the other nodes",
                        plan.image_name()
                    ));
                }
                row
            }
            Err(why) => NodeStatus {
                node: node.name.clone(),
                differs: vec![why],
                fix: engine.err().map(|problem| problem.fix.clone()).unwrap_or_default(),
                ..NodeStatus::default()
            },
        })
        .collect()
}

/// One node, as it was seen.
fn of(plan: &ClusterPlan, observed: &ObservedState, members: Option<&[Member]>) -> NodeStatus {
    let mut row = NodeStatus { node: observed.name.clone(), ..NodeStatus::default() };
    if plan.network.kind == NetworkKind::Overlay {
        row.swarm = Some(in_swarm(observed, members, &mut row.differs));
    }
    in_network(plan, observed, &mut row);
    match &observed.image {
        Some(image) => row.image = Some(image.id.clone()),
        None => row.differs.push(format!("image {} is missing", plan.image_name())),
    }
    match observed.volume.as_ref().map(|labels| labels.get(LABEL) == Some(&plan.name)) {
        Some(true) => {}
        Some(false) => {
            row.differs.push(format!("volume {} does not belong to this cluster", plan.settings_volume))
        }
        None => row.differs.push("the settings volume is missing".into()),
    }
    in_container(plan, observed, &mut row);
    row
}

fn in_swarm(observed: &ObservedState, members: Option<&[Member]>, differs: &mut Vec<String>) -> String {
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
        State::Active => match members {
            None => {
                differs.push("the first node reports no swarm members".into());
                "active".into()
            }
            Some(members) => match members.iter().find(|member| member.id == swarm.node) {
                Some(member) if member.ready => "ready".into(),
                Some(member) => {
                    differs.push(format!("the manager has no contact with this node: {}", member.status));
                    "down".into()
                }
                None => {
                    differs.push(format!("member of a different swarm ({})", swarm.managers.join(", ")));
                    "another".into()
                }
            },
        },
    }
}

fn in_network(plan: &ClusterPlan, observed: &ObservedState, row: &mut NodeStatus) {
    match &observed.network {
        Some(network) => row.network = Some(network.name.clone()),
        // A worker shows an overlay only as long as a container uses it.
        None if observed.container.as_ref().is_some_and(|container| container.running) => {
            row.differs.push(format!("network {} is missing", plan.network.name));
        }
        None => {}
    }
}

fn in_container(plan: &ClusterPlan, observed: &ObservedState, row: &mut NodeStatus) {
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
    if container.running {
        row.container = Some(container.status.clone());
        row.since = Some(container.since.clone());
        if container.health.as_deref() == Some("starting") {
            row.differs.push("the health check has not passed yet since the container started".into());
        }
        if container.health.as_deref() == Some("unhealthy") {
            row.differs.push(format!("the health check fails: {}", container.health_output));
        }
    } else {
        let exit = container.exit.map_or(String::new(), |exit| format!(" ({exit})"));
        row.container = Some(format!("{}{exit}", container.status));
        let memory = if container.out_of_memory { ", killed by the kernel (out of memory)" } else { "" };
        let error = if container.error.is_empty() { String::new() } else { format!(": {}", container.error) };
        row.differs.push(format!(
            "the container is not running{memory}{error}; start it: `envdoc cluster \
            up`"
        ));
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
