//! Tasks for a rank, and workers that do not answer.

use std::time::Duration;

use docker::fan_out;

use super::Endpoint;
use crate::smoke::rank_task::{Answer, Task};
use crate::worker::session::Session;
use crate::worker::{self, Failure};

/// The longest that a worker may take to say that it is there.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(2);
/// Of a worker that does not say so.
pub(super) const UNRESPONSIVE: &str = "worker stopped responding (process hung or connection lost)";

/// Workers that have ended, or hang: nodes and what is known. Whatever else broke, that is the cause.
pub(in crate::smoke) async fn gone(
    sessions: impl Iterator<Item = (&str, &Session)>,
) -> Vec<(String, String)> {
    let asked = sessions.map(|(node, session)| async move {
        let message = match silent(session).await?.why {
            worker::Why::Gone => "the worker exited or its connection closed",
            _ => UNRESPONSIVE,
        };
        Some((node.to_owned(), format!("{node}: {message}")))
    });
    fan_out(asked).await.into_iter().flatten().collect()
}

/// Why a worker does not say that it is there; `None` where it does.
pub(in crate::smoke) async fn silent(session: &Session) -> Option<Failure> {
    session.ask(worker::Task::Identity, LIVENESS_TIMEOUT).await.err()
}

/// Has a rank do a task.
pub(in crate::smoke) async fn ask(
    endpoint: &Endpoint,
    task: Task,
    deadline: Duration,
) -> Result<Answer, Failure> {
    endpoint.session.ask_custom(&task, deadline).await
}
