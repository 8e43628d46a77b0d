//! A container in which nothing can be run, in the words of its engine's state.

use crate::oom;
use diagnostic::Fix;
use docker::container::{self, Found, Status};
use docker::engine::Engine;

/// When a container was started that never was.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Why a program cannot be run in a container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the container {container} on {node} {state}")]
pub struct NotRunning {
    pub node: String,
    pub container: String,
    /// `exited with status 1`; a predicate of a sentence.
    pub state: String,
}

impl NotRunning {
    /// Asks the engine after something could not be run; `None` where the container runs, or nobody can tell.
    pub async fn find(engine: &Engine, node: &str, container: &str) -> Option<NotRunning> {
        let state = match container::inspect(engine, container).await {
            Ok(Some(found)) if found.running && found.status == Status::Running => return None,
            Ok(Some(found)) => state(&found),
            Ok(None) => "does not exist".to_owned(),
            Err(_) => return None,
        };
        Some(NotRunning { node: node.to_owned(), container: container.to_owned(), state })
    }
}

/// Whether it was ever started, so that it may have printed something.
pub fn has_run(found: &Found) -> bool {
    !found.since.is_empty() && found.since != NEVER
}

/// Resumes a paused container.
pub fn unpause(node: &str, container: &str) -> Fix {
    Fix::run(format!("Resume it, on {node}:"), format!("docker unpause {container}"))
}

/// What a container that does not run did, from its engine's state: exit status, out of memory, the engine's
/// error.
pub fn state(found: &Found) -> String {
    let error = if found.error.is_empty() { String::new() } else { format!(": {}", found.error) };
    if !has_run(found) {
        return match found.error.is_empty() {
            true => "was created but never started".to_owned(),
            false => format!("was never started, because the engine could not start it{error}"),
        };
    }
    match (found.status, found.exit) {
        (Status::Exited | Status::Dead, Some(exit)) => {
            format!("exited with status {exit}{}{error}", oom::reported(found))
        }
        (status, _) => format!("is {status}{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_from_engine_state_why_container_is_not_running() {
        let found = |status, since: &str, exit, error: &str| Found {
            status,
            since: since.to_owned(),
            exit,
            error: error.to_owned(),
            ..Found::default()
        };
        let denied = "error setting rlimit type 8: operation not permitted";
        assert_eq!(
            state(&found(Status::Created, NEVER, Some(128), denied)),
            format!("was never started, because the engine could not start it: {denied}")
        );
        assert_eq!(state(&found(Status::Created, NEVER, Some(0), "")), "was created but never started");
        let since = "2026-01-01T00:00:00Z";
        assert_eq!(state(&found(Status::Exited, since, Some(137), "")), "exited with status 137");
        let killed = Found {
            name: "node2".into(),
            out_of_memory: true,
            memory_limit: Some(512 << 20),
            ..found(Status::Exited, since, Some(137), "")
        };
        assert_eq!(
            state(&killed),
            "exited with status 137, killed by the kernel (out of memory; its memory limit is 512 MiB; \
             `docker inspect -f '{{.State.OOMKilled}} {{.HostConfig.Memory}}' node2` prints true and the \
             limit)"
        );
        assert_eq!(state(&found(Status::Paused, "2026-01-01T00:00:00Z", None, "")), "is paused");
    }
}
