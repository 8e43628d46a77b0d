//! The step `removed`: what earlier runs started and cluster.yaml no longer names is removed; the machines of
//! this run are recorded.

use super::{Work, on_all, restart};
use crate::down::{Downed, removed};
use crate::former::{self, Former};
use crate::keys;
use crate::observed_state::{self, ObservedState};
use crate::plan::Node;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::record::{self, Recorded};
use docker::container;
use docker::engine::Engine;

pub(super) const STEP: Step = Step::Removed;

/// Removes it, and records the machines. A former node that cannot be reached stays recorded.
pub(super) async fn step(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let former = former(work, observed).await;
    refuse_busy(work, observed, &former).await?;
    on_all(work.nodes.iter().copied(), |node, engine| strays(work, observed, node, engine)).await?;
    let (_, manager) = work.leader()?;
    let forgotten = observed_state::former(work.plan, observed);
    let forgotten: Vec<Recorded> =
        forgotten.into_iter().filter(|one| work.forget.contains(&one.name)).collect();
    if !forgotten.is_empty() {
        removed::forget(manager, &forgotten).await.into_iter().for_each(|note| work.note(note));
    }
    let mut kept = Vec::new();
    for one in &former {
        match &one.engine {
            Ok(engine) => {
                let downed = removed::remove(work.plan, &one.node, engine, manager, work.progress).await;
                take(work, downed)?;
                forget_keys(work, &one.node);
            }
            Err(why) => {
                work.note(unreached(&one.recorded, why));
                kept.push(one.recorded.clone());
            }
        }
    }
    let mut all = observed_state::current(work.plan, observed);
    all.extend(kept);
    on_all(work.nodes.iter().copied(), |node, engine| write(work, observed, &all, node, engine)).await?;
    Ok(())
}

/// The former nodes but those that shall be forgotten.
pub(super) async fn former(work: &Work<'_>, observed: &[ObservedState]) -> Vec<Former> {
    let recorded = observed_state::former(work.plan, observed);
    let kept = recorded.into_iter().filter(|one| !work.forget.contains(&one.name)).collect();
    former::connect(work.plan, kept).await
}

pub(crate) fn unreached(recorded: &Recorded, why: &former::Unreached) -> String {
    let name = &recorded.name;
    format!(
        "{name} is no longer in cluster.yaml, but cannot be cleaned up ({why}); its container and SSH keys \
        may remain there. Run `envdoc cluster up` again when it is reachable, or forget it: `envdoc cluster \
        up --forget {name}`. If you no longer trust that machine, replace the keys: `envdoc cluster \
        rotate-keys; envdoc cluster up`"
    )
}

/// Before anything is changed: what runs in containers that are to be removed.
async fn refuse_busy(
    work: &Work<'_>,
    observed: &[ObservedState],
    former: &[Former],
) -> Result<(), Vec<Problem>> {
    if work.restart {
        return Ok(());
    }
    let mut problems = Vec::new();
    let needed = "it is no longer in cluster.yaml and would be removed";
    for one in former {
        if let Ok(engine) = &one.engine
            && let Some(busy) = restart::busy(engine, &one.recorded.name).await
        {
            problems.push(restart::refused(STEP, &one.node, needed, &busy));
        }
    }
    for (node, engine) in &work.nodes {
        for name in strays_of(observed, node) {
            if let Some(busy) = restart::busy(engine, name).await {
                let stray = Node { name: name.clone(), ..(*node).clone() };
                problems.push(restart::refused(STEP, &stray, needed, &busy));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

pub(super) fn strays_of<'o>(observed: &'o [ObservedState], node: &Node) -> &'o [String] {
    observed.iter().find(|observed| observed.name == node.name).map_or(&[], |observed| &observed.strays)
}

/// Containers of the cluster on a node that have another name than the node.
async fn strays(
    work: &Work<'_>,
    observed: &[ObservedState],
    node: &Node,
    engine: &Engine,
) -> Result<(), Problem> {
    for name in strays_of(observed, node) {
        work.progress.doing(STEP, &node.name, &format!("removing the container {name}"));
        container::remove(engine, name).await.map_err(|why| {
            let message = format!("cannot remove the container {name}, which is not in cluster.yaml: {why}");
            Problem::of(STEP, &node.name, message).closed(why.is_closed())
        })?;
        let message = format!("removed the container {name}, which is not in cluster.yaml");
        work.done(STEP, &node.name, message, Outcome::Changed);
    }
    Ok(())
}

fn take(work: &Work<'_>, downed: Downed) -> Result<(), Vec<Problem>> {
    for step in downed.steps.into_iter().filter(|step| step.outcome != Outcome::Unchanged) {
        work.keep(step.step, &step.node, step.message, step.outcome);
    }
    downed.notes.into_iter().for_each(|note| work.note(note));
    if downed.problems.is_empty() { Ok(()) } else { Err(downed.problems) }
}

fn forget_keys(work: &Work<'_>, node: &Node) {
    if work.plan.ssh.is_none() {
        return;
    }
    let directory = keys::directory(work.plan.origin.as_deref());
    match keys::forget(&directory, work.plan, node) {
        Ok(()) => work.note(format!(
            "removed {0} and its host key; it had the client key too. If you no longer trust that machine, \
            replace the keys: `envdoc cluster rotate-keys; envdoc cluster up`",
            node.name
        )),
        Err(error) => work.note(format!("the host key of {} was not removed: {}", node.name, error.message)),
    }
}

async fn write(
    work: &Work<'_>,
    observed: &[ObservedState],
    all: &[Recorded],
    node: &Node,
    engine: &Engine,
) -> Result<(), Problem> {
    let recorded = observed.iter().find(|observed| observed.name == node.name).map(|one| &one.recorded);
    if recorded.is_some_and(|recorded| recorded == all) {
        return Ok(());
    }
    record::write(work.plan, engine, all).await.map_err(|why| {
        Problem::of(STEP, &node.name, format!("cannot record the nodes of the cluster: {why}"))
            .closed(why.is_closed())
    })
}
