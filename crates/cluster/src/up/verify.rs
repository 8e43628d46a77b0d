//! The step `verify`: what the cluster is for, tried from inside every container to every other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::restart::{Busy, busy, refused};
use super::{Work, containers, healthy, on_all, pair_tests};
use crate::blocked;
use crate::causes::Causes;
use crate::container_probe::{self, ContainerProbe, Tried, pinned};
use crate::flow::measure::{self, Peer};
use crate::flow::rate::{self, Way};
use crate::plan::Node;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::request::NetworkKind;
use crate::stale_entries::to_reattach;
use crate::worker::container as worker_container;
use docker::container;
use docker::engine::Engine;
use docker::fan_out;

const STEP: Step = Step::Verify;
/// How long the engines of a swarm may take until each knows of every container.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(15);
/// The same for containers that were reattached: what the gossip lost again comes with the next exchange of
/// whole tables, which is every 30 s (moby:libnetwork/networkdb, bulkSyncTables).
const REANNOUNCE_TIMEOUT: Duration = Duration::from_secs(40);
/// The pause before what did not answer is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// Tests everything. Containers that some engine has no entry of, or whose resolver is broken, are restarted
/// once, unless something runs in them.
pub(super) async fn all(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let containers = on_all(work.nodes.iter().copied(), |node, engine| enter(work, node, engine)).await;
    let result = match containers {
        Ok(containers) => rounds(work, containers).await,
        Err(problems) => Err(problems),
    };
    fan_out(work.nodes.iter().map(|(node, engine)| worker_container::forget_worker(engine, &node.name)))
        .await;
    result
}

async fn rounds(work: &Work<'_>, mut containers: Vec<ContainerProbe<'_>>) -> Result<(), Vec<Problem>> {
    let (first, tried) = pairs(work, &containers, ANNOUNCE_TIMEOUT, false).await?;
    if !first.repairable() {
        report_results(work, &containers, &tried).await;
        return if first.problems.is_empty() { Ok(()) } else { Err(first.problems) };
    }
    let repairs = match repairs(work, &first).await {
        Ok(repairs) => repairs,
        Err(refused) => {
            report_results(work, &containers, &tried).await;
            return Err(first.problems.into_iter().chain(refused).collect());
        }
    };
    let nodes = repairs.iter().map(|repair| work.nodes[repair.index]);
    let result = on_all(nodes, |node, engine| {
        let resolver = repairs.iter().any(|one| one.resolver && work.nodes[one.index].0.name == node.name);
        restart(work, node, engine, resolver)
    });
    result.await?;
    // The workers in the others are there still, and leave only when they are let go.
    for repair in &repairs {
        let (node, engine) = work.nodes[repair.index];
        containers[repair.index] = enter(work, node, engine).await.map_err(|problem| vec![problem])?;
    }
    let (second, tried) = pairs(work, &containers, REANNOUNCE_TIMEOUT, true).await?;
    report_results(work, &containers, &tried).await;
    if !second.problems.is_empty() {
        return Err(second.problems);
    }
    for repair in &repairs {
        let node = &work.nodes[repair.index].0.name;
        let why = match repair.resolver {
            true => "its resolver did not ask the engine's DNS server",
            false => "overlay entries were missing on some engine",
        };
        work.note(format!(
            "restarted the container of {node} because {why}; all containers now reach each other"
        ));
    }
    Ok(())
}

/// A container to restart, and why.
struct Repair {
    index: usize,
    /// Its own resolver is broken; else an engine lacks its entry.
    resolver: bool,
}

/// The containers to restart; or which of them run something that would be stopped.
async fn repairs(work: &Work<'_>, causes: &Causes) -> Result<Vec<Repair>, Vec<Problem>> {
    let broken = |index: usize| causes.resolvers.contains(&index);
    let pairs: Vec<(usize, usize)> =
        causes.stale.iter().copied().filter(|(from, to)| !broken(*from) && !broken(*to)).collect();
    let mut places = causes.resolvers.clone();
    places.extend(pairs.iter().flat_map(|(from, to)| [*from, *to]));
    places.sort_unstable();
    places.dedup();
    let asked = places.into_iter().filter(|_| !work.restart).map(|index| async move {
        let (node, engine) = work.nodes[index];
        Some((index, busy(engine, &node.name).await?))
    });
    let busy: BTreeMap<usize, Busy> = fan_out(asked).await.into_iter().flatten().collect();
    let reattached = to_reattach(&pairs, |index| busy.contains_key(&index));
    let repairs = causes.resolvers.iter().map(|index| Repair { index: *index, resolver: true });
    let repairs = repairs.chain(reattached.into_iter().map(|index| Repair { index, resolver: false }));
    let repairs: Vec<Repair> = repairs.collect();
    let refused: Vec<Problem> = repairs
        .iter()
        .filter_map(|repair| {
            let needed = match repair.resolver {
                true => "to set up its resolver again",
                false => "to reattach it to the network",
            };
            Some(refused(STEP, work.nodes[repair.index].0, needed, busy.get(&repair.index)?))
        })
        .collect();
    if refused.is_empty() { Ok(repairs) } else { Err(refused) }
}

/// Restarts a container: starting announces it to every engine, its own engine fetches the others' entries,
/// and writes the container's resolver settings.
async fn restart(work: &Work<'_>, node: &Node, engine: &Engine, resolver: bool) -> Result<(), Problem> {
    let doing = match resolver {
        true => "restarting it to set up its resolver",
        false => "restarting it to reattach it to the network",
    };
    work.progress.doing(STEP, &node.name, doing);
    if let Err(why) = container::stop(engine, &node.name).await {
        work.done(STEP, &node.name, "restart failed", Outcome::Failed);
        return Err(Problem::of(STEP, &node.name, format!("cannot stop its container: {why}"))
            .closed(why.is_closed()));
    }
    let message = match resolver {
        true => "resolver not set to the engine's DNS server: restarted to set it up",
        false => "overlay entry missing on an engine: restarted to reattach it to the network",
    };
    work.done(STEP, &node.name, message, Outcome::Changed);
    containers::one(work, node, engine).await?;
    healthy::one(work, node, engine).await.map(drop)
}

async fn enter<'w>(
    work: &Work<'_>,
    node: &'w Node,
    engine: &'w Engine,
) -> Result<ContainerProbe<'w>, Problem> {
    work.progress.doing(STEP, &node.name, "starting a worker in its container");
    container_probe::enter(work.plan, node, engine, work.bundle()?).await.map_err(|why| {
        work.done(STEP, &node.name, "worker failed in the container", Outcome::Failed);
        let message = format!("cannot run envdoc's worker in the container of {}: {why}", node.name);
        Problem::of(STEP, &node.name, message).closed(why.is_closed())
    })
}

async fn pairs(
    work: &Work<'_>,
    containers: &[ContainerProbe<'_>],
    spreading: Duration,
    reattached: bool,
) -> Result<(Causes, Vec<Tried>), Vec<Problem>> {
    let ordered = (0..containers.len()).flat_map(|from| (0..containers.len()).map(move |to| (from, to)));
    let ordered: Vec<_> = ordered.filter(|(from, to)| from != to).collect();
    let bundle = work.bundle().map_err(|problem| vec![problem])?;
    let start = Instant::now();
    let mut tried = pair_tests::of_pairs(work, containers, ordered).await;
    let packet_loss = packet_loss(work, containers).await;
    if !packet_loss.is_empty() {
        // What else fails, or is slow, follows from that.
        return Ok((Causes { problems: packet_loss, ..Causes::default() }, tried));
    }
    let announcing = work.plan.network.kind == NetworkKind::Overlay
        && !tried.iter().any(|tried| blocked::no_port(tried).is_some());
    while announcing && start.elapsed() < spreading {
        let (dead, alive): (Vec<Tried>, Vec<Tried>) = tried.into_iter().partition(Tried::dead);
        tried = alive;
        if dead.is_empty() {
            break;
        }
        work.progress.doing(STEP, &work.plan.name, "waiting until every engine knows every container");
        tokio::time::sleep(RETRY_INTERVAL).await;
        tried.extend(
            pair_tests::of_pairs(work, containers, dead.iter().map(|one| (one.from, one.to)).collect()).await,
        );
    }
    let gossip = work.gossip.get().cloned().unwrap_or_default();
    let until = announcing.then(|| start + REANNOUNCE_TIMEOUT);
    let causes = pair_tests::judged(work, bundle, containers, &mut tried, &gossip, reattached, until).await;
    if causes.problems != gossip {
        // It works all the same, because engines fall back to TCP; or something else is worse.
        gossip.into_iter().for_each(|problem| work.note(problem.message));
    }
    Ok((causes, tried))
}

/// Heavy loss of packets between the containers; less is only noted.
async fn packet_loss(work: &Work<'_>, containers: &[ContainerProbe<'_>]) -> Vec<Problem> {
    work.progress.doing(STEP, &work.plan.name, "counting packets in each direction");
    let peers: Vec<Peer<'_>> = containers.iter().map(Peer::from).collect();
    let names: Vec<String> = containers.iter().map(|one| one.node.name.clone()).collect();
    // Who cannot send or count cannot connect either, and is named by that.
    let ways = measure::all(&peers, &measure::directions(peers.len())).await.unwrap_or_default();
    let heavy = rate::heavy(STEP, &ways, &names);
    if heavy.is_empty() {
        rate::losses(&ways, &names, Way::is_lossy).into_iter().for_each(|(_, message)| work.note(message));
        rate::disorder(&ways, &names).into_iter().for_each(|message| work.note(message));
    }
    heavy
}

/// Says for every node what came of it.
async fn report_results(work: &Work<'_>, containers: &[ContainerProbe<'_>], tried: &[Tried]) {
    for (index, one) in containers.iter().enumerate() {
        let pinned = pinned(one).await;
        let own: Vec<_> = tried.iter().filter(|tried| tried.from == index).collect();
        let bad = own.iter().any(|tried| !tried.well(one.mtu));
        let outcome = if bad { Outcome::Failed } else { Outcome::Unchanged };
        work.done(STEP, &one.node.name, message(one, &own, pinned.as_deref()), outcome);
        if let Some(pinned) =
            pinned.filter(|pinned| *pinned != one.interface && work.plan.network.interface.is_none())
        {
            work.note(format!(
                "{}: NCCL is pinned to {pinned}, but {} has its address {}",
                one.node.name, one.interface, one.address
            ));
        }
    }
}

fn message(one: &ContainerProbe<'_>, tried: &[&Tried], pinned: Option<&str>) -> String {
    let count = tried.len();
    let all = |what: &str, good: usize| {
        if good == count {
            format!("{what} {good} of {count}")
        } else {
            format!("{what} ONLY {good} of {count}")
        }
    };
    let mut parts = vec![
        all("names", tried.iter().filter(|tried| tried.name.is_ok()).count()),
        all("TCP", tried.iter().filter(|tried| tried.connects.is_ok()).count()),
    ];
    if tried.iter().any(|tried| tried.ssh.is_some()) {
        parts.push(all("ssh", tried.iter().filter(|tried| matches!(tried.ssh, Some(Ok(())))).count()));
    }
    if let Some(packet) = tried.iter().filter_map(|tried| tried.packet).min() {
        parts.push(format!("packets of {packet} bytes"));
    }
    let pinned = pinned.map_or(String::new(), |pinned| format!("; NCCL and Gloo use {pinned}"));
    format!("{} is {}; checks to the other nodes: {}{pinned}", one.interface, one.address, parts.join(", "))
}
