//! Tasks for a rank, and why there is no answer.

use std::time::Duration;

use docker::fan_out;

use super::Endpoint;
use crate::smoke::rank::{Answer, Task};
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

/// Why a rank did not give the answer that its task has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoAnswer {
    /// The rank could not do it; other ranks are named in the text.
    #[error("{0}")]
    Broken(String),
    /// The answer of another task.
    #[error("unexpected answer: {0:?}")]
    Unexpected(Box<Answer>),
    /// Its worker failed.
    #[error(transparent)]
    Worker(#[from] Failure),
}

impl NoAnswer {
    /// Of an answer that is not the expected one. `name` names the ranks that a fault is about.
    pub(in crate::smoke) fn of(answer: Result<Answer, Failure>, name: &dyn Fn(usize) -> String) -> NoAnswer {
        match expected(answer, name) {
            Ok(other) => NoAnswer::Unexpected(Box::new(other)),
            Err(error) => error,
        }
    }
}

/// The answer, unless the rank or its worker reports a fault.
pub(in crate::smoke) fn expected(
    answer: Result<Answer, Failure>,
    name: &dyn Fn(usize) -> String,
) -> Result<Answer, NoAnswer> {
    match answer? {
        Answer::Broken(broken) => Err(NoAnswer::Broken(broken.message(name))),
        answer => Ok(answer),
    }
}
