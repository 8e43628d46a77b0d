//! The nodes' engines, connected to all at once.

use std::time::Instant;

use super::hosts_file;
use super::nodes::{self, Limits};
use super::plan::{ClusterPlan, Node};
use super::problem::{Problem, Step};
use diagnostic::Fix;
use docker::engine::Engine;

/// The oldest Docker that the lab runs clusters on, and its API version.
const OLDEST_DOCKER: &str = "20.10";
const OLDEST_API: (u32, u32) = (1, 41);

/// How connecting to a node ended, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAccess {
    pub node: String,
    /// Its engine's endpoint.
    pub engine: String,
    /// Why the engine cannot be used; `None` where it can.
    pub problem: Option<Problem>,
}

/// Every node with its engine, or why that cannot be used. Each has its deadline, so many at once.
pub async fn connect(plan: &ClusterPlan) -> Vec<(&Node, Result<Engine, Problem>)> {
    connect_to(&plan.nodes, Limits::default()).await
}

/// These nodes.
pub async fn connect_to<'p>(
    nodes: impl IntoIterator<Item = &'p Node>,
    limits: Limits,
) -> Vec<(&'p Node, Result<Engine, Problem>)> {
    let nodes: Vec<&Node> = nodes.into_iter().collect();
    let opened = nodes::open(nodes.iter().copied(), limits).await;
    nodes::side_by_side(nodes.into_iter().zip(opened), limits.width, |(node, opened)| async move {
        let engine = opened.into_engine(Instant::now() + limits.each).await.map_err(|blocked| {
            let cause = blocked.cause;
            let fixes = blocked.fixes.clone();
            let error = blocked.error(&node.engine);
            let from = hosts_file::explanation(node, cause);
            let from = from.map(|why| format!("; {why}")).unwrap_or_default();
            let mut problem = Problem::of(Step::Connect, &node.name, error.message + &from);
            (problem.fixes, problem.unreached) = (fixes, Some(cause));
            problem
        });
        (node, engine.and_then(|engine| supported(node, engine)))
    })
    .await
}

/// Refuses an engine that has no swarm mode, or one older than what the lab tests.
fn supported(node: &Node, engine: Engine) -> Result<Engine, Problem> {
    let message = match (engine.podman, engine.api < OLDEST_API) {
        (true, _) => "has no swarm mode, which the containers' overlay network needs",
        (_, true) => "is too old for `envdoc cluster`",
        _ => return Ok(engine),
    };
    let message = format!("the engine at {} is {}; it {message}", node.engine, engine.name);
    Err(Problem::of(Step::Connect, &node.name, message).fix(Fix::manual(format!(
        "Install Docker {OLDEST_DOCKER} or newer on {}, and point `engine` in cluster.yaml at its socket",
        node.name
    ))))
}

/// All of them, or what is wrong with those that cannot be used.
pub fn whole<'r, 'p>(
    reached: &'r [(&'p Node, Result<Engine, Problem>)],
) -> Result<Vec<(&'p Node, &'r Engine)>, Vec<Problem>> {
    let problems: Vec<_> = reached.iter().filter_map(|(_, engine)| engine.as_ref().err().cloned()).collect();
    if problems.is_empty() { Ok(those(reached)) } else { Err(problems) }
}

/// How connecting to each of them ended.
pub fn access<E>(reached: &[(&Node, Result<E, Problem>)]) -> Vec<NodeAccess> {
    let access = |(node, engine): &(&Node, Result<E, Problem>)| NodeAccess {
        node: node.name.clone(),
        engine: node.engine.to_string(),
        problem: engine.as_ref().err().cloned(),
    };
    reached.iter().map(access).collect()
}

/// Those that can be used.
pub fn those<'r, 'p>(reached: &'r [(&'p Node, Result<Engine, Problem>)]) -> Vec<(&'p Node, &'r Engine)> {
    reached.iter().filter_map(|(node, engine)| Some((*node, engine.as_ref().ok()?))).collect()
}
