//! Which machines a cluster was started on: recorded on every node, so that one that is removed from
//! cluster.yaml is not forgotten while its container runs on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan::{ClusterPlan, Gpus, LABEL, Node};
use docker::engine::Engine;
use docker::swarm::Machine;
use docker::volume;

/// Label of the record's volume, which is never mounted: the machines as JSON.
const NODES_LABEL: &str = "envdoc.nodes";

/// A machine on which a node of the cluster was started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Recorded {
    /// The node's name, also of its container.
    pub name: String,
    /// Its engine's endpoint.
    pub engine: String,
    /// Directory with the certificates for an engine over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The engine's own id; machines that were cloned share it.
    pub id: String,
    /// The machine's host name.
    pub hostname: String,
}

impl Recorded {
    /// A node on the machine that its engine reports.
    pub fn of(node: &Node, machine: &Machine) -> Recorded {
        Recorded {
            name: node.name.clone(),
            engine: node.engine.clone(),
            tls: node.tls.clone(),
            id: machine.id.clone(),
            hostname: machine.hostname.clone(),
        }
    }

    /// Whether it is this machine.
    pub fn is_on(&self, machine: &Machine) -> bool {
        (&self.id, &self.hostname) == (&machine.id, &machine.hostname)
    }

    /// To connect to it; `index` is its place behind the nodes of the plan.
    pub fn node(&self, index: usize) -> Node {
        Node {
            index,
            name: self.name.clone(),
            address: String::new(),
            engine: self.engine.clone(),
            tls: self.tls.clone(),
            gpus: Gpus::None,
            slots: 0,
            labels: BTreeMap::new(),
            environment: BTreeMap::new(),
        }
    }
}

/// The volume that holds the record on each node.
pub fn volume_name(plan: &ClusterPlan) -> String {
    format!("{}-nodes", plan.name)
}

/// What an engine has recorded of a cluster; nothing where it has no record that can be read.
pub async fn read(plan: &ClusterPlan, engine: &Engine) -> Result<Vec<Recorded>, docker::Error> {
    let labels = volume::labels(engine, &volume_name(plan)).await?.unwrap_or_default();
    if labels.get(LABEL) != Some(&plan.name) {
        return Ok(Vec::new());
    }
    Ok(labels.get(NODES_LABEL).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default())
}

/// Records these machines in place of what was recorded.
pub async fn write(plan: &ClusterPlan, engine: &Engine, all: &[Recorded]) -> Result<(), docker::Error> {
    let name = volume_name(plan);
    let text = serde_json::to_string(all).unwrap_or_default();
    let labels = [(LABEL.to_owned(), plan.name.clone()), (NODES_LABEL.to_owned(), text)].into();
    volume::remove(engine, &name).await?;
    volume::create(engine, &name, &labels, &BTreeMap::new()).await
}
