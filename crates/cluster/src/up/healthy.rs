//! The step `healthy`: every container's own check holds.

use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::{Work, diagnosis, on_all};
use crate::fixes;
use crate::plan::Node;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::request::NetworkKind;
use crate::{gossip, oom};
use diagnostic::Fix;
use docker::container::{self, Found, Health, Status};
use docker::engine::Engine;

const STEP: Step = Step::Healthy;
/// The longest until a container is well.
const HEALTHY_TIMEOUT: Duration = Duration::from_secs(120);
/// A container without a check counts as well when it has run this long.
const MIN_UPTIME: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Lines of a container's output that are read for a cause.
const LOG_LINES: u32 = 30;
const LOG_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for all, and listens meanwhile to the gossip of the engines where containers are new: nothing else
/// crosses the overlay then.
pub(super) async fn all(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    tokio::join!(waited(work), listened(work)).0
}

async fn listened(work: &Work<'_>) {
    if work.plan.network.kind == NetworkKind::Overlay
        && work.changed()
        && let Ok(bundle) = work.bundle()
    {
        let _ = work.gossip.set(gossip::between(work.plan, bundle, &work.nodes).await);
    }
}

async fn waited(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    on_all(work.nodes.iter().copied(), |node, engine| async move {
        work.progress.doing(STEP, &node.name, "waiting until it is healthy");
        let result = one(work, node, engine).await;
        match &result {
            Ok(message) => work.done(STEP, &node.name, message.clone(), Outcome::Unchanged),
            Err(_) => work.done(STEP, &node.name, "not healthy", Outcome::Failed),
        }
        result
    })
    .await
    .map(drop)
}

pub(super) async fn one(work: &Work<'_>, node: &Node, engine: &Engine) -> Result<String, Problem> {
    let started = Instant::now();
    let mut last = "unknown".to_owned();
    // What was before does not count: a port that was taken may be free by now.
    let mut before = None;
    while started.elapsed() < HEALTHY_TIMEOUT {
        match container::inspect(engine, &node.name).await {
            Ok(Some(found)) => {
                match state(&found, *before.get_or_insert(found.restarts), started.elapsed()) {
                    State::Well(message) => return Ok(message),
                    State::Never(why) => {
                        return Err(diagnosis::unwell(work, node, &why, &printed(engine, &node.name).await));
                    }
                    State::NotYet(message) => last = message,
                }
            }
            Ok(None) => {
                return Err(Problem::of(
                    STEP,
                    &node.name,
                    "the container was removed during `up`, not by envdoc",
                )
                .fix(Fix::run("Create it again:", "envdoc cluster up")));
            }
            Err(why) => {
                return Err(Problem::of(
                    STEP,
                    &node.name,
                    format!("the Docker engine on {} stopped responding: {why}", node.name),
                )
                .fix(Fix::run("Check the engine on that node:", "systemctl status docker"))
                .fix(fixes::resume()));
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let message = format!("{last} after {} s", HEALTHY_TIMEOUT.as_secs());
    Err(diagnosis::unwell(work, node, &message, &printed(engine, &node.name).await))
}

enum State {
    Well(String),
    NotYet(String),
    Never(String),
}

fn state(found: &Found, before: i64, waited: Duration) -> State {
    if found.restarts > before + 1
        || (!found.running && !matches!(found.status, Status::Created | Status::Restarting))
    {
        let exit = found.exit.map_or(String::new(), |exit| format!(" (exit {exit})"));
        return State::Never(format!("{}{exit}{}", found.status, oom::reported(found)));
    }
    match found.health {
        Some(Health::Healthy) => State::Well("healthy".into()),
        Some(Health::Unhealthy) if found.health_output.is_empty() => {
            State::Never("unhealthy; its health check prints nothing".into())
        }
        Some(Health::Unhealthy) => State::Never(format!("unhealthy: {}", found.health_output)),
        Some(Health::Starting) => State::NotYet("starting".into()),
        None if found.running && waited > MIN_UPTIME => State::Well("running; no health check".into()),
        None => State::NotYet(found.status.to_string()),
    }
}

async fn printed(engine: &Engine, name: &str) -> String {
    let mut logs = container::logs(engine, name, Some(LOG_LINES), false);
    let mut bytes = Vec::new();
    let read = async {
        while let Some(Ok(chunk)) = logs.next().await {
            bytes.extend_from_slice(&chunk.bytes);
        }
    };
    let _ = tokio::time::timeout(LOG_TIMEOUT, read).await;
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
