//! The two readings: before something runs, and after it ended.

use std::path::Path;
use std::time::Duration;

use docker::engine::Engine;
use docker::{container, exec, fan_out};

use super::counter::{candidates, counter};
use super::{Counter, Finding, Snapshot, Unread, compare};

/// The longest that one question to an engine may take: a machine without memory is slow.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Names this process's cgroups.
const OWN_CGROUP: &str = "/proc/self/cgroup";

/// Containers whose OOM kills are counted from a moment on.
pub struct Watch<'e>(Vec<(String, &'e Engine, Snapshot)>);

impl<'e> Watch<'e> {
    /// Reads for the first time. The containers have the names of their nodes.
    pub async fn start<'n>(nodes: impl Iterator<Item = (&'n str, &'e Engine)>) -> Watch<'e> {
        let snapshots = nodes.map(|(node, engine)| async move {
            let snapshot = snapshot(engine, node).await;
            (node.to_owned(), engine, snapshot)
        });
        Watch(fan_out(snapshots).await)
    }

    /// Reads again: what happened in each container since.
    pub async fn end(&self) -> Vec<(String, Finding)> {
        let found = self.0.iter().map(|(node, engine, before)| async move {
            (node.clone(), compare(before, &snapshot(engine, node).await))
        });
        fan_out(found).await
    }
}

/// This machine, counted from a moment on: the cgroup in which envdoc and what it starts run.
pub struct Local(Snapshot);

impl Local {
    /// Reads for the first time.
    pub fn start() -> Local {
        Local(local_snapshot())
    }

    /// Reads again: what happened since.
    pub fn end(&self) -> Finding {
        compare(&self.0, &local_snapshot())
    }
}

fn local_snapshot() -> Snapshot {
    let text = |path: &str| host::file::text_of(Path::new(path));
    let counter = text(OWN_CGROUP)
        .map_err(|error| Unread::OwnCgroup(error.to_string()))
        .and_then(|own| counter(&candidates(&own), |path| text(path).ok()).ok_or(Unread::NoCounter));
    Snapshot { counter, engine: None }
}

async fn snapshot(engine: &Engine, name: &str) -> Snapshot {
    let state = tokio::time::timeout(READ_TIMEOUT, container::inspect(engine, name));
    let (counter, state) = tokio::join!(counted(engine, name), state);
    Snapshot { counter, engine: state.ok().and_then(Result::ok).flatten() }
}

/// Reads with programs that every image with a shell has; `grep -H` puts the file's name before each line.
async fn counted(engine: &Engine, name: &str) -> Result<Counter, Unread> {
    let own = exec::run(engine, name, &["cat", OWN_CGROUP], READ_TIMEOUT).await?;
    if own.status != 0 {
        return Err(Unread::OwnCgroup(own.stderr.trim().to_owned()));
    }
    let candidates = candidates(&own.stdout);
    let mut argv = vec!["grep", "-H", ""];
    argv.extend(candidates.iter().flat_map(super::counter::Files::paths));
    let lines = exec::run(engine, name, &argv, READ_TIMEOUT).await?.stdout;
    let read = |path: &str| {
        let lines = lines.lines().filter_map(|line| line.strip_prefix(path)?.strip_prefix(':'));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        (!text.is_empty()).then_some(text)
    };
    counter(&candidates, read).ok_or(Unread::NoCounter)
}
