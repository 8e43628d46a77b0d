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
use diagnostic::error::Error;
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
    notes.extend(keys_note(plan));
    let caches = fan_out(nodes.iter().map(|(node, engine)| async move {
        Some((node.name.as_str(), cache_size(engine.transport.ssh()?).await))
    }));
    notes.extend(cache_notes(caches.await.into_iter().flatten().collect()));
    let images = fan_out(nodes.iter().map(|(node, engine)| async move {
        let found = docker::image::identity(engine, plan.image_name()).await;
        (node.name.as_str(), found.map(|image| image.is_some()).map_err(Unchecked::from))
    }));
    notes.extend(image_notes(plan.image_name(), images.await));
    notes
}

/// What is known of each node, or why it is not.
type Found<'n, T> = Vec<(&'n str, Result<T, Unchecked>)>;

/// Why something that may remain on a node could not be checked.
#[derive(Debug, thiserror::Error)]
enum Unchecked {
    #[error(transparent)]
    Engine(#[from] docker::Error),
    #[error(transparent)]
    Connection(#[from] docker::transport::ConnectError),
    #[error("sh failed with exit status {0}")]
    Shell(i32),
}

fn unread<T>(what: &str, found: &Found<'_, T>) -> Option<String> {
    let failed =
        |(node, found): &(&str, Result<T, Unchecked>)| Some(format!("{node} ({})", found.as_ref().err()?));
    let failed: Vec<String> = found.iter().filter_map(failed).collect();
    (!failed.is_empty()).then(|| format!("could not check {what}: {}", failed.join(", ")))
}

fn cache_notes(found: Found<'_, u64>) -> Vec<String> {
    let mut notes: Vec<String> =
        unread("whether a copy of envdoc remains in ~/.cache/envdoc", &found).into_iter().collect();
    let sizes = found.iter().filter_map(|(node, kib)| Some((node, *kib.as_ref().ok()?)));
    let names: Vec<String> = sizes
        .filter(|(_, kib)| *kib > 0)
        .map(|(node, kib)| format!("{node} ({})", short_size(kib.saturating_mul(1024))))
        .collect();
    if !names.is_empty() {
        notes.push(format!(
            "kept the copy of envdoc in ~/.cache/envdoc on {} for the next run; remove it: `envdoc cluster \
            down --purge`",
            names.join(", ")
        ));
    }
    notes
}

fn image_notes(image: &str, found: Found<'_, bool>) -> Vec<String> {
    let mut notes: Vec<String> =
        unread(&format!("whether the image {image} remains"), &found).into_iter().collect();
    let names: Vec<&str> =
        found.iter().filter(|(_, there)| matches!(there, Ok(true))).map(|(node, _)| *node).collect();
    if !names.is_empty() {
        notes.push(format!(
            "kept the image {image} on {}, which other containers may use; remove it on each node: `docker \
            rmi {image}`",
            names.join(", ")
        ));
    }
    notes
}

fn keys_note(plan: &ClusterPlan) -> Option<String> {
    let directory = keys::directory(plan.origin.as_deref());
    match own_keys(plan, &directory) {
        Ok(true) => Some(format!(
            "kept the SSH keys in {} for the next `up`; remove them: `envdoc cluster down --purge`",
            directory.display()
        )),
        Ok(false) => None,
        Err(why) => Some(format!(
            "kept the SSH keys in {}, because they could not be read: {}",
            directory.display(),
            why.message
        )),
    }
}

async fn swarm_note(nodes: &[(&Node, &Engine)]) -> Option<String> {
    let (node, engine) = nodes.iter().find(|(node, _)| node.index == 0)?;
    let machine = match swarm::machine(engine).await {
        Ok(machine) => machine,
        Err(why) => return Some(format!("could not check whether {} is in a swarm: {why}", node.name)),
    };
    if machine.swarm.state != State::Active || !machine.swarm.manager {
        return None;
    }
    let created = swarm::labels(engine).await.map(|labels| labels.contains_key(super::plan::LABEL));
    Some(kept_swarm(&node.name, created))
}

fn kept_swarm(node: &str, created: Result<bool, docker::Error>) -> String {
    match created {
        Ok(true) => format!(
            "kept the swarm of {node}, which envdoc created; end it: `envdoc cluster down --leave-swarm`"
        ),
        Ok(false) => format!("kept the swarm of {node}, which envdoc did not create"),
        Err(why) => format!("kept the swarm of {node}; could not check whether envdoc created it: {why}"),
    }
}

/// Whether the directory has keys of this cluster. Several clusters may share it.
fn own_keys(plan: &ClusterPlan, directory: &Path) -> Result<bool, Error> {
    Ok(keys::load(directory, plan)?.is_some_and(|keys| keys.are_of(plan)))
}

/// Removes the keys here and the copies of envdoc on the nodes.
pub async fn purge(plan: &ClusterPlan, nodes: &[(&Node, &Engine)], progress: &Progress) -> Downed {
    let mut downed = Downed::default();
    let directory = keys::directory(plan.origin.as_deref());
    // Keys that cannot be read stay, and `notes` reports them.
    if own_keys(plan, &directory).is_ok_and(|own| own) {
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
        Some((*node, empty_cache(connection).await))
    }));
    for (node, emptied) in emptied.await.into_iter().flatten() {
        match emptied {
            Ok(0) => {}
            Ok(kib) => {
                let message =
                    format!("removed envdoc from ~/.cache/envdoc ({})", short_size(kib.saturating_mul(1024)));
                downed.done(progress, STEP, &node.name, &message, Outcome::Changed);
            }
            Err(why) => {
                let message = format!("~/.cache/envdoc could not be emptied: {why}");
                downed.failed(progress, STEP, &node.name, message);
            }
        }
    }
    downed
}

/// The KiB that were removed.
async fn empty_cache(connection: &Connection) -> Result<u64, Unchecked> {
    let kib = cache_size(connection).await?;
    if kib > 0 {
        sh(connection, EMPTY_CACHE).await?;
    }
    Ok(kib)
}

async fn cache_size(connection: &Connection) -> Result<u64, Unchecked> {
    let listed = sh(connection, CACHE_SIZE).await?;
    let sizes = listed.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(sizes.fold(0, u64::saturating_add))
}

async fn sh(connection: &Connection, script: &str) -> Result<String, Unchecked> {
    let command = format!("sh -c {}", quoted(script));
    let ran = connection.run(&command, b"", Instant::now() + CACHE_TIMEOUT).await;
    let ran = ran?;
    if ran.status == 0 { Ok(ran.text()) } else { Err(Unchecked::Shell(ran.status)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_noted() {
        assert_eq!(cache_notes(vec![("node1", Ok(0))]), [""; 0]);
        let notes = cache_notes(vec![("node1", Err(Unchecked::Shell(124))), ("node2", Ok(2048))]);
        assert!(notes[0].starts_with("could not check whether a copy of envdoc remains"), "{notes:?}");
        assert!(
            notes[0].ends_with(": node1 (sh failed with exit status 124)") && notes[1].contains("on node2 ("),
            "{notes:?}"
        );
        assert_eq!(image_notes("lab:1", vec![("node1", Ok(false))]), [""; 0]);
        let notes = image_notes(
            "lab:1",
            vec![
                ("node1", Err(docker::Error::ConnectionRefused("refused".into()).into())),
                ("node2", Ok(true)),
            ],
        );
        assert_eq!(notes[0], "could not check whether the image lab:1 remains: node1 (refused)");
        assert!(notes[1].starts_with("kept the image lab:1 on node2,"), "{notes:?}");
        let note = kept_swarm("node1", Err(docker::Error::ConnectionRefused("refused".into())));
        assert!(note.ends_with("could not check whether envdoc created it: refused"), "{note}");
    }
}
