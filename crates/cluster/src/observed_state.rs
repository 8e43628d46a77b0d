//! What is there of a cluster, before anything is done: asked of every engine at once.

use std::collections::BTreeMap;

use docker::fan_out;

use super::plan::{ClusterPlan, Node};
use super::problem::Problem;
use docker::container::Found;
use docker::engine::Engine;
use docker::image::Identity;
use docker::network::Network;
use docker::swarm::Machine;
use docker::{container, image, network, swarm, volume};

/// A node and what its engine has of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedState {
    /// Its name in the plan.
    pub name: String,
    /// Its address in the plan.
    pub address: String,
    /// The machine, as its engine tells of it.
    pub machine: Machine,
    /// Seconds by which its clock is ahead of this machine's.
    pub ahead: Option<i64>,
    /// The cluster's image.
    pub image: Option<Identity>,
    /// The cluster's network.
    pub network: Option<Network>,
    /// The labels of the volume with the settings.
    pub volume: Option<BTreeMap<String, String>>,
    /// Its container.
    pub container: Option<Found>,
}

/// Asks all of them.
pub async fn look(
    plan: &ClusterPlan,
    nodes: &[(&Node, &Engine)],
) -> Result<Vec<ObservedState>, Vec<Problem>> {
    let all = fan_out(nodes.iter().map(|(node, engine)| one(plan, node, engine))).await;
    let (mut observed, mut problems) = (Vec::new(), Vec::new());
    for (result, (node, _)) in all.into_iter().zip(nodes) {
        match result {
            Ok(found) => observed.push(found),
            Err(why) => problems.push(
                Problem::of(
                    "connect",
                    &node.name,
                    format!("the Docker engine ({}) failed to answer: {why}", node.engine),
                )
                .closed(why.is_closed())
                .fix("Diagnose the engine on that machine: `envdoc check --only docker`"),
            ),
        }
    }
    if problems.is_empty() { Ok(observed) } else { Err(problems) }
}

/// Asks one.
pub async fn one(plan: &ClusterPlan, node: &Node, engine: &Engine) -> Result<ObservedState, docker::Error> {
    let machine = swarm::machine(engine).await?;
    let ahead = machine.time.as_deref().and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let ahead = ahead.map(|time| time.as_second() - jiff::Timestamp::now().as_second());
    let (image, network, volume, container) = tokio::join!(
        image::identity(engine, plan.image_name()),
        network::inspect(engine, &plan.network.name),
        volume::labels(engine, &plan.settings_volume),
        container::inspect(engine, &node.name),
    );
    Ok(ObservedState {
        name: node.name.clone(),
        address: node.address.clone(),
        machine,
        ahead,
        image: image?,
        network: network?,
        volume: volume?,
        container: container?,
    })
}
