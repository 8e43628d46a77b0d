//! `down --leave-swarm`: nodes leave their swarm only if envdoc created it and nothing else is in it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Downed;
use crate::join_marker;
use crate::plan::{ClusterPlan, LABEL, Node};
use crate::problem::{Problem, Step};
use crate::progress::{Outcome, Progress};
use diagnostic::Fix;
use docker::engine::Engine;
use docker::swarm::{self, Contents, Machine, Member, State};

const STEP: Step = Step::Swarm;
/// How long a network that was removed may still be listed.
const NETWORK_GONE_ATTEMPTS: u32 = 20;
const NETWORK_GONE_INTERVAL: Duration = Duration::from_millis(500);

/// What is in a swarm besides the cluster: the kind, and the names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Foreign(Vec<(&'static str, Vec<String>)>);

/// Why the nodes stay in their swarm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Kept {
    /// The swarm has no label of envdoc.
    #[error("envdoc did not create the swarm of {manager}, so no node leaves it{}", holds(.foreign))]
    NotCreated {
        manager: String,
        /// What is in it.
        foreign: Foreign,
    },
    /// Something else is in it, which would be lost.
    #[error("the swarm of {manager} is in use, so no node leaves it{}", holds(.foreign))]
    InUse {
        manager: String,
        /// What is in it.
        foreign: Foreign,
    },
    /// The first node cannot tell what is in it.
    #[error("cannot list what the swarm of {manager} holds ({reason}), so no node leaves it")]
    Unknown { manager: String, reason: String },
}

fn holds(foreign: &Foreign) -> String {
    if foreign.0.is_empty() { String::new() } else { format!("; it holds {foreign}") }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |(kind, names): &(&str, Vec<String>)| format!("{kind}: {}", names.join(", "));
        f.write_str(&self.0.iter().map(kind).collect::<Vec<_>>().join("; "))
    }
}

impl Kept {
    fn problem(self) -> Problem {
        let problem = match &self {
            Kept::NotCreated { manager, .. }
            | Kept::InUse { manager, .. }
            | Kept::Unknown { manager, .. } => Problem::of(STEP, manager, self.to_string()),
        };
        match self {
            Kept::NotCreated { .. } => problem.fix(Fix::safe(
                "Keep the swarm, or end it yourself if nothing needs it:",
                &["docker node ls", "docker service ls", "docker network ls --filter scope=swarm"],
            )),
            Kept::InUse { .. } => problem.fix(Fix::restarts_service(
                "Keep the swarm, or remove what it holds, then run again:",
                &["envdoc cluster down --leave-swarm"],
            )),
            Kept::Unknown { .. } => problem.fix(Fix::run(
                "Check the swarm on the first node:",
                "docker info --format '{{json .Swarm}}'",
            )),
        }
    }
}

/// Whether the nodes may leave. `members` are the names of members that are no nodes of the cluster.
pub(super) fn allowed(
    manager: &str,
    labels: &BTreeMap<String, String>,
    contents: &Contents,
    members: Vec<String>,
) -> Result<(), Kept> {
    let network = |(name, labels): (&String, &BTreeMap<String, String>)| match labels.get(LABEL) {
        Some(cluster) => format!("{name} (envdoc cluster {cluster})"),
        None => name.clone(),
    };
    let networks = contents.networks.iter().map(network).collect();
    let kinds = [
        ("services", contents.services.clone()),
        ("secrets", contents.secrets.clone()),
        ("configs", contents.configs.clone()),
        ("networks", networks),
        ("cluster volumes", contents.volumes.clone()),
        ("other nodes", members),
    ];
    let foreign = Foreign(kinds.into_iter().filter(|(_, names)| !names.is_empty()).collect());
    let manager = manager.to_owned();
    match (labels.contains_key(LABEL), foreign.0.is_empty()) {
        (false, _) => Err(Kept::NotCreated { manager, foreign }),
        (true, false) => Err(Kept::InUse { manager, foreign }),
        (true, true) => Ok(()),
    }
}

/// The workers leave, then the manager, with which the swarm ends.
pub(crate) async fn leave(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    let mut machines = BTreeMap::new();
    for (node, engine) in nodes {
        match swarm::machine(engine).await {
            Ok(machine) => drop(machines.insert(node.name.as_str(), machine)),
            Err(why) => downed.failed(progress, STEP, &node.name, why),
        }
    }
    let Some((leader, manager)) = nodes.iter().find(|(node, _)| node.index == 0) else {
        downed.problems.push(Problem::new(
            STEP,
            "the first node is unreachable; no node can leave the swarm without its manager",
        ));
        return downed;
    };
    let Some(first) = machines.get(leader.name.as_str()) else { return downed };
    let members = match first.swarm.state {
        State::Inactive => Ok(Vec::new()),
        _ => verified(plan, leader, manager, &machines).await,
    };
    let members = match members {
        Ok(members) => members,
        Err(kept) => {
            progress.done(STEP, &leader.name, "kept the swarm", Outcome::Unchanged);
            downed.problems.push(kept.problem());
            return downed;
        }
    };
    // The first one last: it lets the others go.
    for (node, engine) in nodes.iter().rev() {
        let Some(machine) = machines.get(node.name.as_str()) else { continue };
        one(plan, node, engine, machine, &members, progress, &mut downed).await;
    }
    downed
}

async fn one(
    plan: &ClusterPlan,
    node: &Node,
    engine: &Engine,
    machine: &Machine,
    members: &[Member],
    progress: &Progress,
    downed: &mut Downed,
) {
    let swarm = &machine.swarm;
    let member = members.iter().any(|member| member.id == swarm.node);
    // A failed join of envdoc made it a member of nothing.
    let joining = match swarm.node.is_empty() {
        true => join_marker::is_set(plan, engine).await,
        false => Ok(false),
    };
    let joining = match joining {
        Ok(joining) => joining,
        Err(why) => return downed.failed(progress, STEP, &node.name, why),
    };
    if swarm.state == State::Inactive {
        downed.done(progress, STEP, &node.name, "not in a swarm", Outcome::Unchanged);
    } else if member || joining {
        match swarm::leave(engine, swarm.manager || joining).await {
            Ok(()) => downed.done(progress, STEP, &node.name, "left the swarm", Outcome::Changed),
            Err(why) => downed.failed(progress, STEP, &node.name, why),
        }
    } else {
        downed.notes.push(format!(
            "{} is a member of a different swarm ({}) and stays there",
            node.name,
            swarm.managers.join(", ")
        ));
    }
}

/// The members of the first node's swarm, if the nodes may leave it.
async fn verified(
    plan: &ClusterPlan,
    leader: &Node,
    manager: &Engine,
    machines: &BTreeMap<&str, Machine>,
) -> Result<Vec<Member>, Kept> {
    let unknown = |reason: String| Kept::Unknown { manager: leader.name.clone(), reason };
    let swarm = machines.get(leader.name.as_str()).map(|machine| &machine.swarm);
    if !swarm.is_some_and(|swarm| swarm.manager) {
        let managers = swarm.map(|swarm| swarm.managers.join(", ")).unwrap_or_default();
        return Err(unknown(format!("{} is not a swarm manager; managers: {managers}", leader.name)));
    }
    let failed = |why: docker::Error| unknown(why.to_string());
    let mut contents = swarm::contents(manager).await.map_err(failed)?;
    // `down` has removed it; the manager lists it until every node has let go of it.
    for _ in 0..NETWORK_GONE_ATTEMPTS {
        let network = contents.networks.get(&plan.network.name);
        if network.is_none_or(|labels| labels.get(LABEL) != Some(&plan.name)) {
            break;
        }
        tokio::time::sleep(NETWORK_GONE_INTERVAL).await;
        contents = swarm::contents(manager).await.map_err(failed)?;
    }
    let (labels, members) = tokio::join!(swarm::labels(manager), swarm::members(manager));
    let (labels, members) = (labels.map_err(failed)?, members.map_err(failed)?);
    let ours = |id: &str| machines.values().any(|machine| machine.swarm.node == id);
    let of_this_plan = |hostname: &str| machines.values().any(|machine| machine.hostname == hostname);
    let others = members
        .iter()
        .filter(|member| !ours(&member.id) && (member.ready || !of_this_plan(&member.hostname)))
        .map(|member| member.hostname.clone())
        .collect();
    allowed(&leader.name, &labels, &contents, others)?;
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(label: &str, value: &str) -> BTreeMap<String, String> {
        [(label.to_owned(), value.to_owned())].into()
    }

    fn kept(labels: &BTreeMap<String, String>, contents: &Contents, members: &[&str]) -> String {
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        allowed("node1", labels, contents, members).map_or_else(|kept| kept.to_string(), |()| String::new())
    }

    #[test]
    fn leaves_only_an_empty_swarm_created_by_envdoc() {
        let own = labels(LABEL, "lab");
        assert_eq!(kept(&own, &Contents::default(), &[]), "");
        let none = BTreeMap::new();
        assert!(
            kept(&none, &Contents::default(), &[]).starts_with("envdoc did not create the swarm of node1")
        );
        let one = |name: &str| vec![name.to_owned()];
        let network =
            |labels| Contents { networks: [("net".to_owned(), labels)].into(), ..Contents::default() };
        for (contents, message) in [
            (Contents { services: one("svc"), ..Contents::default() }, "it holds services: svc"),
            (Contents { secrets: one("token"), ..Contents::default() }, "it holds secrets: token"),
            (Contents { configs: one("conf"), ..Contents::default() }, "it holds configs: conf"),
            (Contents { volumes: one("vol"), ..Contents::default() }, "it holds cluster volumes: vol"),
            (network(none.clone()), "it holds networks: net"),
            (network(labels(LABEL, "two")), "it holds networks: net (envdoc cluster two)"),
        ] {
            assert!(kept(&own, &contents, &[]).ends_with(message), "{}", kept(&own, &contents, &[]));
            assert!(kept(&none, &contents, &[]).ends_with(message));
        }
        assert!(kept(&own, &Contents::default(), &["host9"]).ends_with("it holds other nodes: host9"));
    }
}
