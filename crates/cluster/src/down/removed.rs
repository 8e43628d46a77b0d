//! A node that is no longer in cluster.yaml is cleaned up, or forgotten.

use super::{Downed, containers};
use crate::plan::{ClusterPlan, LABEL, Node};
use crate::problem::Step;
use crate::progress::{Outcome, Progress};
use crate::record::Recorded;
use docker::engine::Engine;
use docker::{container, swarm};

const STEP: Step = Step::Removed;
/// Label of a container that the swarm started for a service.
const TASK_LABEL: &str = "com.docker.swarm.task.id";

/// Removes the cluster from a node: containers, volumes with keys, membership in a swarm that envdoc created.
pub(crate) async fn remove(
    plan: &ClusterPlan,
    node: &Node,
    engine: &Engine,
    manager: &Engine,
    progress: &Progress,
) -> Downed {
    let mut downed = containers(plan, node, engine, progress).await;
    if !downed.problems.is_empty() {
        return downed;
    }
    match leave(engine, manager).await {
        Ok(Left::Yes) => downed.done(progress, STEP, &node.name, "left the swarm", Outcome::Changed),
        Ok(Left::NoMember) => {}
        Ok(Left::Listed) => {
            downed.done(progress, STEP, &node.name, "left the swarm", Outcome::Changed);
            downed.notes.push(format!(
                "the manager still lists {}; remove it: `docker node rm {}`",
                node.name, node.name
            ));
        }
        Ok(Left::Foreign) => downed.notes.push(format!(
            "{} stays in the swarm, which envdoc did not create or which something else on it uses",
            node.name
        )),
        Err(why) => downed.failed(progress, STEP, &node.name, why),
    }
    downed
}

enum Left {
    Yes,
    /// It left, but the manager did not take it off its list.
    Listed,
    /// It is not in the manager's swarm.
    NoMember,
    Foreign,
}

async fn leave(engine: &Engine, manager: &Engine) -> Result<Left, docker::Error> {
    let (machine, first) = tokio::join!(swarm::machine(engine), swarm::machine(manager));
    let (own, first) = (machine?.swarm, first?.swarm);
    if own.node.is_empty() || !first.manager {
        return Ok(Left::NoMember);
    }
    let members = swarm::members(manager).await?;
    if members.iter().all(|member| member.id != own.node) {
        return Ok(Left::NoMember);
    }
    let used = container::all(engine).await?;
    let used = used.iter().any(|labels| labels.contains_key(TASK_LABEL) || labels.contains_key(LABEL));
    if own.manager || used || !swarm::labels(manager).await?.contains_key(LABEL) {
        return Ok(Left::Foreign);
    }
    swarm::leave(engine, false).await?;
    // The manager counts it as ready for some seconds more; it has left all the same.
    Ok(match swarm::remove_member(manager, &own.node, true).await {
        Ok(()) => Left::Yes,
        Err(_) => Left::Listed,
    })
}

/// Takes nodes that are gone for good off the manager's list, where it has lost contact with them.
/// Returns what could not be done.
pub(crate) async fn forget(manager: &Engine, forgotten: &[Recorded]) -> Vec<String> {
    let members = match listed(manager).await {
        Ok(members) => members,
        Err(why) => return vec![still_listed(forgotten.iter().map(|one| one.hostname.as_str()), &why)],
    };
    let gone = |member: &&swarm::Member| {
        !member.ready && forgotten.iter().any(|one| one.hostname == member.hostname)
    };
    let mut notes = Vec::new();
    for member in members.iter().filter(gone) {
        if let Err(why) = swarm::remove_member(manager, &member.id, false).await {
            notes.push(still_listed([member.hostname.as_str()].into_iter(), &why));
        }
    }
    notes
}

/// The members of a swarm that envdoc created; none where it did not, or where the engine manages none.
async fn listed(manager: &Engine) -> Result<Vec<swarm::Member>, docker::Error> {
    if !swarm::machine(manager).await?.swarm.manager || !swarm::labels(manager).await?.contains_key(LABEL) {
        return Ok(Vec::new());
    }
    swarm::members(manager).await
}

fn still_listed<'h>(hosts: impl Iterator<Item = &'h str>, why: &docker::Error) -> String {
    let hosts: Vec<&str> = hosts.collect();
    format!(
        "{} may still be on the swarm manager's list: {why}. Show it and remove them: `docker node ls`, \
        `docker node rm NODE`",
        hosts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_stay_on_the_list_are_named_with_the_reason() {
        let refused = docker::Error::ConnectionRefused("connection refused".into());
        let note = still_listed(["host3", "host4"].into_iter(), &refused);
        assert!(note.starts_with("host3, host4 may still be"), "{note}");
        assert!(note.contains("list: connection refused."), "{note}");
    }
}
