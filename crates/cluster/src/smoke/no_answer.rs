//! Why a rank gave no answer.

use super::rank_task::Answer;
use crate::worker::Failure;

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
    pub(super) fn of(answer: Result<Answer, Failure>, name: &dyn Fn(usize) -> String) -> NoAnswer {
        match expected(answer, name) {
            Ok(other) => NoAnswer::Unexpected(Box::new(other)),
            Err(error) => error,
        }
    }
}

/// The answer, unless the rank or its worker reports a fault.
pub(super) fn expected(
    answer: Result<Answer, Failure>,
    name: &dyn Fn(usize) -> String,
) -> Result<Answer, NoAnswer> {
    match answer? {
        Answer::Broken(broken) => Err(NoAnswer::Broken(broken.message(name))),
        answer => Ok(answer),
    }
}
