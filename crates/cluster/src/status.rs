//! `status`: what is there of a cluster, node by node, and what differs from its plan.

use std::collections::BTreeMap;

use docker::fan_out;
use schemars::JsonSchema;
use serde::Serialize;

use super::activity::{Activity, activity};
use super::built;
use super::compare;
use super::container as container_spec;
use super::former::{self, Former};
use super::keys::{self, Keys};
use super::lock::{self, Holder};
use super::network;
use super::observed_state::{self, ObservedState};
use super::plan::{ClusterPlan, LABEL, Node};
use super::problem::Problem;
use super::request::NetworkKind;
use super::secrets::{self, Value};
use diagnostic::Fix;
use diagnostic::error::Error;
use diagnostic::render::fix_keys;
use diagnostic::render::json::FixEntry;
use docker::container::{self, Health};
use docker::engine::Engine;
use docker::swarm::{self, Member};
use docker::transport::ConnectCause;
use jobs::{FirstNode, of_jobs};
use node_state::{in_container, in_network, in_swarm};

pub use node_state::{ContainerState, SwarmState};

mod jobs;
mod node_state;

/// What `cluster status` found on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = fix_keys::describe)]
pub struct NodeStatus {
    /// The name of the node in cluster.yaml.
    pub node: String,
    /// Its engine's name and version; `None` where it cannot be reached.
    pub engine: Option<String>,
    /// How it takes part in the swarm; `None` where no swarm is wanted.
    pub swarm: Option<SwarmState>,
    /// Name of the cluster's network, where the node's engine has it.
    pub network: Option<String>,
    /// Id of the cluster's image in the node's engine: `sha256:…`; null where it has none.
    pub image: Option<String>,
    /// `running`, `exited (1)`, `none`, or why nobody can tell.
    #[schemars(with = "Option<String>")]
    pub container: Option<ContainerState>,
    /// What the health checks of its container report; null where the container has none.
    pub health: Option<Health>,
    /// When the container was started last, as RFC 3339.
    pub since: Option<String>,
    /// What differs from the plan, each a sentence.
    pub differs: Vec<String>,
    /// What to do, the best first.
    #[serde(flatten, with = "fix_keys", skip_serializing_if = "Vec::is_empty")]
    #[schemars(!flatten, with = "Vec<FixEntry>")]
    pub fixes: Vec<Fix>,
    /// Why its engine cannot be reached, where that is a known cause.
    #[serde(skip)]
    pub(crate) unreached: Option<Option<ConnectCause>>,
}

#[derive(Debug, Default)]
pub struct Status {
    /// The nodes of the plan in their order, then those that are no longer in it.
    pub nodes: Vec<NodeStatus>,
    /// What could not be compared.
    pub notes: Vec<String>,
    /// The runs of envdoc that change or use the cluster now.
    pub runs: Vec<Holder>,
}

/// What the containers should have, as far as this machine knows it.
struct Wanted {
    keys: Result<Option<Keys>, Error>,
    secrets: Result<Vec<Value>, Error>,
}

impl Wanted {
    fn of(plan: &ClusterPlan) -> Wanted {
        let keys = match &plan.ssh {
            Some(_) => keys::load(&keys::directory(plan.origin.as_deref()), plan),
            None => Ok(None),
        };
        Wanted { keys, secrets: secrets::read(plan) }
    }
}

/// Asks all nodes that can be reached.
pub async fn status(plan: &ClusterPlan, nodes: &[(&Node, Result<&Engine, &Problem>)]) -> Status {
    let wanted = Wanted::of(plan);
    let observed = fan_out(nodes.iter().map(|(node, engine)| async move {
        match engine {
            Ok(engine) => observed_state::one(plan, node, engine)
                .await
                .map_err(|why| (why.to_string(), why.fix(&node.name).into_iter().collect())),
            Err(problem) => Err((problem.message.clone(), problem.fixes.clone())),
        }
    }))
    .await;
    let members = match nodes.first() {
        Some((_, Ok(engine))) if plan.network.kind == NetworkKind::Overlay => {
            swarm::members(engine).await.map_err(FirstNode::Engine)
        }
        _ => Err(FirstNode::Unreached),
    };
    let reached: Vec<ObservedState> = observed.iter().flatten().cloned().collect();
    let exec = fan_out(nodes.iter().zip(&observed).map(|((_, engine), observed)| async move {
        let found = observed.as_ref().ok()?.container.as_ref().filter(|found| found.enterable())?;
        Some(activity(engine.ok()?, found).await)
    }))
    .await;
    let running: Vec<(String, Activity)> = nodes
        .iter()
        .zip(&exec)
        .filter_map(|((node, _), listed)| Some((node.name.clone(), listed.as_ref()?.as_ref().ok()?.clone())))
        .collect();
    let reference = observed.iter().flatten().find_map(|observed| observed.image.clone());
    let mut rows: Vec<NodeStatus> = nodes
        .iter()
        .zip(observed)
        .zip(exec)
        .map(|(((node, engine), observed), exec)| match observed {
            Ok(observed) => {
                let mut row = of(plan, node, &observed, &members, &wanted);
                if let Some(Err(why)) = exec {
                    row.differs.push(format!("the engine cannot run a program in the container: {why}"));
                    row.fixes.push(Fix::run(
                        "Check containerd on that node:",
                        "systemctl status containerd docker",
                    ));
                }
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
            Err((why, fixes)) => NodeStatus {
                node: node.name.clone(),
                differs: vec![why],
                fixes,
                unreached: engine.err().and_then(|problem| problem.unreached),
                ..NodeStatus::default()
            },
        })
        .collect();
    if let Some(row) = rows.first_mut()
        && reached.len() == nodes.len()
    {
        row.differs.extend(together(plan, &reached));
    }
    let former = former::connect(plan, observed_state::former(plan, &reached)).await;
    rows.extend(fan_out(former.iter().map(gone)).await);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(wanted.secrets.err().map(|why| format!("secrets were not compared: {}", why.message)));
    let overlay = plan.network.kind == NetworkKind::Overlay;
    notes.extend(reached.iter().filter(|_| overlay).filter_map(crate::swarm::other_address));
    let runs = match nodes.first() {
        Some((_, Ok(engine))) => lock::holders(plan, engine).await.map_err(FirstNode::Locks),
        _ => Err(FirstNode::Unreached),
    };
    notes.extend(of_jobs(&running, runs.as_deref()));
    Status { nodes: rows, notes, runs: runs.unwrap_or_default() }
}

/// What `up` would refuse or change for all nodes together.
fn together(plan: &ClusterPlan, observed: &[ObservedState]) -> Vec<String> {
    let mut differs = Vec::new();
    if let Err(problem) = network::decide(plan, observed) {
        differs.push(problem.message);
    }
    match built::current(plan, observed) {
        Ok(true) => {}
        Ok(false) => differs.push(format!(
            "{} was not built from the current file; build it again: `envdoc cluster up`",
            plan.image_name()
        )),
        Err(problem) => differs.push(problem.message),
    }
    differs
}

/// A node that is no longer in cluster.yaml.
async fn gone(former: &Former) -> NodeStatus {
    let name = &former.recorded.name;
    let mut row = NodeStatus { node: name.clone(), ..NodeStatus::default() };
    let engine = match &former.engine {
        Ok(engine) => engine,
        Err(why) => {
            row.differs.push(format!("no longer in cluster.yaml; cannot connect to clean it up: {why}"));
            row.fixes
                .push(Fix::restarts_service("Clean it up when it is reachable:", &["envdoc cluster up"]));
            row.fixes.push(Fix::run("Forget it:", format!("envdoc cluster up --forget {name}")));
            return row;
        }
    };
    row.engine = Some(engine.name.clone());
    let state = match container::inspect(engine, name).await {
        Ok(Some(found)) => ContainerState::from(&found),
        Ok(None) => ContainerState::None,
        Err(why) => ContainerState::Unknown(why.to_string()),
    };
    row.differs.push(format!("no longer in cluster.yaml, but its container is {state}"));
    row.container = Some(state);
    row.fixes.push(Fix::restarts_service(
        "Remove its container, keys and network attachment:",
        &["envdoc cluster up"],
    ));
    row
}

/// One node, as it was seen.
fn of(
    plan: &ClusterPlan,
    node: &Node,
    observed: &ObservedState,
    members: &Result<Vec<Member>, FirstNode>,
    wanted: &Wanted,
) -> NodeStatus {
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
    compared(plan, node, observed, wanted, &mut row);
    for name in &observed.strays {
        row.differs.push(format!(
            "the container {name} of this cluster is not in cluster.yaml; remove it: `envdoc cluster up`"
        ));
    }
    row
}

/// What cluster.yaml, keys and secrets say now, and the container was not made from.
fn compared(
    plan: &ClusterPlan,
    node: &Node,
    observed: &ObservedState,
    wanted: &Wanted,
    row: &mut NodeStatus,
) {
    let ours = |labels: &BTreeMap<String, String>| labels.get(LABEL) == Some(&plan.name);
    if !observed.container.as_ref().is_some_and(|found| ours(&found.labels)) {
        return;
    }
    let mut changed = compare::container_differs(observed, &container_spec::of(plan, node));
    match &wanted.keys {
        Ok(None) if plan.ssh.is_some() => row.differs.push(format!(
            "the SSH keys in {} are incomplete; `envdoc cluster up` creates new ones and recreates the \
                containers",
            keys::directory(plan.origin.as_deref()).display()
        )),
        Err(why) => row.differs.push(why.message.clone()),
        Ok(keys) => {
            let secrets = wanted.secrets.as_deref();
            match compare::settings(plan, node, keys.as_ref(), secrets.unwrap_or_default()) {
                Ok(settings) => {
                    changed.extend(compare::settings_differ(observed, &settings, secrets.is_ok()))
                }
                Err(why) => row.differs.push(why.message),
            }
        }
    }
    if !changed.is_empty() {
        row.differs.push(format!(
            "changed since the container was created: {}; apply it: `envdoc cluster up`",
            changed.join(", ")
        ));
    }
}
