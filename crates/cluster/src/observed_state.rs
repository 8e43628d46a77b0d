//! What is there of a cluster, before anything is done: asked of every engine at once.

use std::collections::BTreeMap;

use diagnostic::Fix;
use docker::fan_out;

use super::Error;
use super::container as container_spec;
use super::join_marker;
use super::plan::{ClusterPlan, LABEL, Node};
use super::probe;
use super::problem::{Problem, Step};
use super::record::{self, Recorded};
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
    pub container: Option<Found>,
    /// Whether envdoc asked its engine to join the swarm, and the join has not succeeded yet.
    pub joining: bool,
    /// The machines that were recorded when the cluster was started last.
    pub recorded: Vec<Recorded>,
    /// Containers of the cluster that are not the node's: it had another name, or an interrupted run left
    /// them.
    pub strays: Vec<String>,
}

pub async fn look(
    plan: &ClusterPlan,
    nodes: &[(&Node, &Engine)],
) -> Result<Vec<ObservedState>, Vec<Problem>> {
    let all = fan_out(nodes.iter().map(|(node, engine)| one(plan, node, engine))).await;
    let (mut observed, mut problems) = (Vec::new(), Vec::new());
    for (result, (node, _)) in all.into_iter().zip(nodes) {
        match result {
            Ok(found) => observed.push(found),
            Err(why) => problems.push(unseen(node, &why)),
        }
    }
    if problems.is_empty() { Ok(observed) } else { Err(problems) }
}

fn unseen(node: &Node, why: &Error) -> Problem {
    if let Some(fix) = why.fix(&node.name) {
        return Problem::of(Step::Connect, &node.name, why.to_string()).fix(fix);
    }
    let message = format!("the Docker engine ({}) failed to answer: {why}", node.engine);
    Problem::of(Step::Connect, &node.name, message)
        .closed(why.is_closed())
        .fix(Fix::run("Diagnose the engine on that machine:", "envdoc check --only docker"))
}

pub async fn one(plan: &ClusterPlan, node: &Node, engine: &Engine) -> Result<ObservedState, Error> {
    let machine = swarm::machine(engine).await?;
    let ahead = machine.time.as_deref().and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let ahead = ahead.map(|time| time.as_second() - jiff::Timestamp::now().as_second());
    let (image, network, volume, container, joining, recorded, labelled) = tokio::join!(
        image::identity(engine, plan.image_name()),
        network::inspect(engine, &plan.network.name),
        volume::labels(engine, &plan.settings_volume),
        container::inspect(engine, &node.name),
        join_marker::is_set(plan, engine),
        record::read(plan, engine),
        container::labelled(engine, LABEL, &plan.name),
    );
    let strays = labelled?.into_iter().filter(|name| *name != node.name && !is_helper(plan, name)).collect();
    Ok(ObservedState {
        name: node.name.clone(),
        address: node.address.clone(),
        machine,
        ahead,
        image: image?,
        network: network?,
        volume: volume?,
        container: container?,
        joining: joining?,
        recorded: recorded?,
        strays,
    })
}

/// Whether a container is one that envdoc starts for a moment; the next one replaces it.
fn is_helper(plan: &ClusterPlan, name: &str) -> bool {
    plan.nodes
        .iter()
        .any(|node| *name == probe::name(plan, node) || *name == container_spec::settings_holder(plan, node))
}

/// The machines of the plan's nodes.
pub fn current(plan: &ClusterPlan, observed: &[ObservedState]) -> Vec<Recorded> {
    let of = |node: &Node| {
        let observed = observed.iter().find(|observed| observed.name == node.name)?;
        Some(Recorded::of(node, &observed.machine))
    };
    plan.nodes.iter().filter_map(of).collect()
}

/// The machines that were recorded and are none of the plan's any more. A node that was not reached is taken
/// to be where it was.
pub fn former(plan: &ClusterPlan, observed: &[ObservedState]) -> Vec<Recorded> {
    let reached = |name: &str| observed.iter().any(|observed| observed.name == name);
    let planned = |name: &str| plan.nodes.iter().any(|node| node.name == name);
    let mut former: Vec<Recorded> = observed
        .iter()
        .flat_map(|observed| &observed.recorded)
        .filter(|recorded| !observed.iter().any(|observed| recorded.is_on(&observed.machine)))
        .filter(|recorded| !planned(&recorded.name) || reached(&recorded.name))
        .cloned()
        .collect();
    former.sort();
    former.dedup_by(|one, other| {
        (&one.name, &one.id, &one.hostname) == (&other.name, &other.id, &other.hostname)
    });
    former
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::UnreadableRecord;
    use crate::testing::two_nodes;

    fn machine(number: u32) -> Machine {
        Machine { id: format!("ID{number}"), hostname: format!("host{number}"), ..Machine::default() }
    }

    fn recorded(name: &str, number: u32) -> Recorded {
        Recorded::of(&two_nodes("").nodes[0], &machine(number)).named(name)
    }

    impl Recorded {
        fn named(self, name: &str) -> Recorded {
            Recorded { name: name.to_owned(), ..self }
        }
    }

    #[test]
    fn an_unreadable_record_is_not_blamed_on_the_engine() {
        let record =
            UnreadableRecord { label: "envdoc.nodes", volume: "lab-nodes-2".into(), reason: "EOF".into() };
        let problem = unseen(&two_nodes("").nodes[0], &record.into());
        assert!(problem.message.starts_with("cannot read which machines"), "{problem:?}");
        assert!(problem.fixes[0].commands == ["docker volume rm lab-nodes-2"], "{problem:?}");
        let refused = docker::Error::ConnectionRefused("refused".into());
        let problem = unseen(&two_nodes("").nodes[0], &refused.into());
        assert!(problem.message.contains("failed to answer: refused"), "{problem:?}");
    }

    #[test]
    fn removed_or_moved_node_counts_as_former() {
        let plan = two_nodes("");
        let observed = |name: &str, number, recorded: &[Recorded]| ObservedState {
            name: name.to_owned(),
            machine: machine(number),
            recorded: recorded.to_vec(),
            ..ObservedState::default()
        };
        let all = [recorded("node1", 1), recorded("node2", 2), recorded("node3", 3)];
        let names = |observed: &[ObservedState]| {
            former(&plan, observed).into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        // Both nodes have the record: it counts once.
        assert_eq!(names(&[observed("node1", 1, &all), observed("node2", 2, &all)]), ["node3"]);
        // node2 is on another machine now; node2 was not reached.
        assert_eq!(names(&[observed("node1", 1, &all[..2]), observed("node2", 9, &[])]), ["node2"]);
        assert_eq!(names(&[observed("node1", 1, &all[..2])]), [""; 0]);
        // The same machine under another name.
        assert_eq!(names(&[observed("node1", 1, &[recorded("old", 1)]), observed("node2", 2, &[])]), [""; 0]);
    }
}
