//! Nodes that were removed from cluster.yaml: those that the other nodes recorded are connected to.

use docker::fan_out;

use super::nodes::Limits;
use super::plan::{ClusterPlan, Node};
use super::reach;
use super::record::Recorded;
use docker::engine::Engine;
use docker::swarm;
use docker::transport::Endpoint;

/// A node that is no longer in cluster.yaml.
pub struct Former {
    /// What was recorded of it.
    pub recorded: Recorded,
    /// The same as a node, to work on it.
    pub node: Node,
    /// Its engine, or why it cannot be used.
    pub engine: Result<Engine, Unreached>,
}

/// Why a former node cannot be worked on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// No connection.
    #[error("{0}")]
    Connection(String),
    /// Its endpoint leads elsewhere now.
    #[error("{hostname} answers at {engine} instead of {expected}")]
    OtherMachine {
        /// The machine that answers.
        hostname: String,
        /// The endpoint.
        engine: Endpoint,
        /// The machine that was recorded.
        expected: String,
    },
}

/// Connects to them, and verifies that each is the machine that was recorded.
pub async fn connect(plan: &ClusterPlan, recorded: Vec<Recorded>) -> Vec<Former> {
    let nodes: Vec<Node> =
        recorded.iter().enumerate().map(|(index, one)| one.node(plan.nodes.len() + index)).collect();
    let reached = reach::connect_to(&nodes, Limits::default()).await;
    let engines: Vec<_> = reached.into_iter().map(|(_, engine)| engine).collect();
    let all = recorded.into_iter().zip(engines).zip(nodes.iter()).map(|((recorded, engine), node)| async {
        let engine = match engine {
            Ok(engine) => verified(&recorded, engine).await,
            Err(problem) => Err(Unreached::Connection(problem.message)),
        };
        Former { recorded, node: node.clone(), engine }
    });
    fan_out(all).await
}

async fn verified(recorded: &Recorded, engine: Engine) -> Result<Engine, Unreached> {
    match swarm::machine(&engine).await {
        Ok(machine) if recorded.is_on(&machine) => Ok(engine),
        Ok(machine) => Err(Unreached::OtherMachine {
            hostname: machine.hostname,
            engine: recorded.engine.clone(),
            expected: recorded.hostname.clone(),
        }),
        Err(why) => Err(Unreached::Connection(why.to_string())),
    }
}
