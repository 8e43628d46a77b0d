//! The step `verify`: what the cluster is for, tried from inside every container to every other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use super::{Work, on_all};
use crate::cluster::causes::causes;
use crate::cluster::inside::{self, Inside, Tried, pinned};
use crate::cluster::plan::Node;
use crate::cluster::problem::Problem;
use crate::cluster::request::NetworkKind;
use crate::engine::docker::Engine;
use crate::engine::exec;
use crate::report::cluster::progress::Outcome;

const STEP: &str = "verify";
/// How long the engines of a swarm may take until each knows of every container: what the gossip lost comes with the next exchange of whole
/// tables, which is every 30 s (moby:libnetwork/networkdb, bulkSyncTables).
const SPREADING: Duration = Duration::from_secs(40);
/// The pause before what did not answer is tried again.
const AGAIN: Duration = Duration::from_secs(3);
/// Pairs that are tried at once.
const AT_ONCE: usize = 32;

/// Tries everything.
pub(super) async fn all(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let inside = on_all(work.nodes.iter().copied(), |node, engine| enter(work, node, engine)).await;
    let result = match &inside {
        Ok(inside) => pairs(work, inside).await,
        Err(problems) => Err(problems.clone()),
    };
    join_all(work.nodes.iter().map(|(node, engine)| exec::forget_worker(engine, &node.name))).await;
    result
}

async fn enter<'w>(work: &Work<'_>, node: &'w Node, engine: &'w Engine) -> Result<Inside<'w>, Problem> {
    work.progress.doing(STEP, &node.name, "looking from inside its container");
    inside::enter(work.plan, node, engine, work.bundle()?).await.map_err(|why| {
        work.done(STEP, &node.name, "could not be looked at from inside", Outcome::Failed);
        let says = format!("envdoc could not look from inside the container of {}: {why}", node.name);
        Problem::of(STEP, &node.name, says)
    })
}

async fn pairs(work: &Work<'_>, inside: &[Inside<'_>]) -> Result<(), Vec<Problem>> {
    let ordered = (0..inside.len()).flat_map(|from| (0..inside.len()).map(move |to| (from, to)));
    let ordered: Vec<_> = ordered.filter(|(from, to)| from != to).collect();
    let start = Instant::now();
    let mut tried = of_pairs(work, inside, ordered).await;
    while work.plan.network.kind == NetworkKind::Overlay && start.elapsed() < SPREADING {
        let (dead, alive): (Vec<Tried>, Vec<Tried>) = tried.into_iter().partition(Tried::dead);
        tried = alive;
        if dead.is_empty() {
            break;
        }
        work.progress.doing(STEP, &work.plan.name, "waiting until every engine knows of every container");
        tokio::time::sleep(AGAIN).await;
        tried.extend(of_pairs(work, inside, dead.iter().map(|one| (one.from, one.to)).collect()).await);
    }
    let problems = if tried.iter().all(|tried| tried.well(inside[tried.from].mtu)) {
        Vec::new()
    } else {
        causes(work.plan, work.bundle().map_err(|problem| vec![problem])?, inside, &tried).await
    };
    for (place, one) in inside.iter().enumerate() {
        let pinned = pinned(one).await;
        let own: Vec<_> = tried.iter().filter(|tried| tried.from == place).collect();
        let bad = own.iter().any(|tried| !tried.well(one.mtu));
        let outcome = if bad { Outcome::Failed } else { Outcome::Unchanged };
        work.done(STEP, &one.node.name, says(one, &own, pinned.as_deref()), outcome);
        if let Some(pinned) =
            pinned.filter(|pinned| *pinned != one.interface && work.plan.network.interface.is_none())
        {
            work.note(format!(
                "{}: NCCL is pinned to {pinned}, but {} has its address {}",
                one.node.name, one.interface, one.address
            ));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

async fn of_pairs(work: &Work<'_>, inside: &[Inside<'_>], pairs: Vec<(usize, usize)>) -> Vec<Tried> {
    stream::iter(pairs)
        .map(|(from, to)| inside::pair(work.plan, inside, from, to))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

fn says(one: &Inside<'_>, tried: &[&Tried], pinned: Option<&str>) -> String {
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
    format!("{} is {}; to the others: {}{pinned}", one.interface, one.address, parts.join(", "))
}
