//! What `down` leaves on the machines and here, and `down --purge` removes too.

use crate::problem::Step;
use std::path::Path;
use std::time::{Duration, Instant};

use docker::fan_out;

use super::down::Downed;
use super::keys;
use super::plan::{ClusterPlan, Node};
use super::request::NetworkKind;
use crate::progress::{Outcome, Progress};
use diagnostic::shell::quoted;
use diagnostic::units::short_size;
use docker::engine::Engine;
use docker::swarm::{self, State};
use docker::transport::ssh::Connection;

const STEP: Step = Step::Purge;
/// The longest that looking into a node's cache, or emptying it, may take.
const CACHE_TIMEOUT: Duration = Duration::from_secs(20);
/// Prints the size of the copies of envdoc on a node, in KiB. Each has a file `whole`; other caches of envdoc
/// do not.
const CACHE_SIZE: &str = "for f in \"$HOME\"/.cache/envdoc/*/whole; do test -f \"$f\" && du -sk \
    \"${f%/whole}\"; done; true";
/// Removes them; fails where one cannot be removed. Other caches of envdoc may keep the directory.
const EMPTY_CACHE: &str = "for f in \"$HOME\"/.cache/envdoc/*/whole; do test -f \"$f\" || continue; rm -rf \
    \"${f%/whole}\" || exit 1; done; rmdir \"$HOME/.cache/envdoc\" 2>/dev/null; true";

/// What stays after `down`, each with the reason or the way to remove it. `left_swarm`: the nodes were to
/// leave their swarm.
pub async fn notes(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], left_swarm: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if plan.network.kind == NetworkKind::Overlay && !left_swarm {
        notes.extend(swarm_note(nodes).await);
    }
    let directory = keys::directory(plan.origin.as_deref());
    if own_keys(plan, &directory) {
        notes.push(format!(
            "kept the SSH keys in {} for the next `up`; remove them: `envdoc cluster down --purge`",
            directory.display()
        ));
    }
    let caches = fan_out(nodes.iter().map(|(node, engine)| async move {
        let kib = cache_size(engine.transport.ssh()?).await.filter(|kib| *kib > 0)?;
        Some((node.name.as_str(), kib))
    }));
    let caches: Vec<_> = caches.await.into_iter().flatten().collect();
    if !caches.is_empty() {
        let names: Vec<_> =
            caches.iter().map(|(node, kib)| format!("{node} ({})", short_size(kib << 10))).collect();
        notes.push(format!(
            "kept the copy of envdoc in ~/.cache/envdoc on {} for the next run; remove it: `envdoc cluster \
            down --purge`",
            names.join(", ")
        ));
    }
    let images = fan_out(nodes.iter().map(|(node, engine)| async move {
        let found = docker::image::identity(engine, plan.image_name()).await.ok().flatten();
        found.map(|_| node.name.as_str())
    }));
    let images: Vec<_> = images.await.into_iter().flatten().collect();
    if !images.is_empty() {
        notes.push(format!(
            "kept the image {0} on {1}, which other containers may use; remove it on each node: `docker rmi \
            {0}`",
            plan.image_name(),
            images.join(", ")
        ));
    }
    notes
}

async fn swarm_note(nodes: &[(&Node, &Engine)]) -> Option<String> {
    let (node, engine) = nodes.iter().find(|(node, _)| node.index == 0)?;
    let machine = swarm::machine(engine).await.ok()?;
    if machine.swarm.state != State::Active || !machine.swarm.manager {
        return None;
    }
    let created = swarm::labels(engine).await.ok()?.contains_key(super::plan::LABEL);
    Some(match created {
        true => format!(
            "kept the swarm of {}, which envdoc created; end it: `envdoc cluster down --leave-swarm`",
            node.name
        ),
        false => format!("kept the swarm of {}, which envdoc did not create", node.name),
    })
}

/// Whether the directory has keys of this cluster. Several clusters may share it.
fn own_keys(plan: &ClusterPlan, directory: &Path) -> bool {
    keys::load(directory, plan).is_ok_and(|keys| keys.is_some_and(|keys| keys.are_of(plan)))
}

/// Removes the keys here and the copies of envdoc on the nodes.
pub async fn purge(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    let directory = keys::directory(plan.origin.as_deref());
    if own_keys(plan, &directory) {
        match keys::remove(&directory, plan) {
            Ok(()) => {
                let message = format!("removed the SSH keys in {}", directory.display());
                downed.done(progress, STEP, &plan.name, &message, Outcome::Changed);
            }
            Err(error) => downed.failed(progress, STEP, &plan.name, error.message),
        }
    }
    let emptied = fan_out(nodes.iter().map(|(node, engine)| async move {
        let connection = engine.transport.ssh()?;
        let kib = cache_size(connection).await.filter(|kib| *kib > 0)?;
        let emptied = sh(connection, EMPTY_CACHE).await;
        Some((*node, kib, emptied.is_some()))
    }));
    for (node, kib, emptied) in emptied.await.into_iter().flatten() {
        match emptied {
            true => {
                let message = format!("removed envdoc from ~/.cache/envdoc ({})", short_size(kib << 10));
                downed.done(progress, STEP, &node.name, &message, Outcome::Changed);
            }
            false => downed.failed(progress, STEP, &node.name, "~/.cache/envdoc could not be emptied"),
        }
    }
    downed
}

async fn cache_size(connection: &Connection) -> Option<u64> {
    let listed = sh(connection, CACHE_SIZE).await?;
    Some(listed.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum())
}

async fn sh(connection: &Connection, script: &str) -> Option<String> {
    let command = format!("sh -c {}", quoted(script));
    let ran = connection.run(&command, b"", Instant::now() + CACHE_TIMEOUT).await.ok()?;
    (ran.status == 0).then(|| ran.text())
}
