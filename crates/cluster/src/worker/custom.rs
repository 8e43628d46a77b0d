//! Tasks that the worker carries but does not know: a program registers a handler, requests and answers are
//! JSON.

use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::Session;
use super::{Answer, Failure, Task, Why, unexpected};

/// A task of a program that uses the worker.
pub trait CustomTask: Serialize + DeserializeOwned {
    /// Selects the handler on the worker's side.
    const PROGRAM: &'static str;
    /// What the handler answers.
    type Answer: Serialize + DeserializeOwned;
}

type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// The worker's side of a program.
pub struct Program {
    /// [`CustomTask::PROGRAM`].
    pub name: &'static str,
    /// Does one task within a deadline.
    pub run: fn(Value, Duration) -> Running,
    /// Called when the worker ends.
    pub finish: fn(),
}

/// A handler with typed tasks and answers as [`Program::run`].
pub fn handle<T, F>(payload: Value, deadline: Duration, handler: fn(T, Duration) -> F) -> Running
where
    T: CustomTask + Send + 'static,
    F: Future<Output = T::Answer> + Send + 'static,
{
    Box::pin(async move {
        let task: T = serde_json::from_value(payload).map_err(not_understood)?;
        serde_json::to_value(handler(task, deadline).await).map_err(not_understood)
    })
}

impl Session {
    /// Has the worker do a custom task.
    pub async fn ask_custom<T: CustomTask>(
        &self,
        task: &T,
        deadline: Duration,
    ) -> Result<T::Answer, Failure> {
        let payload = serde_json::to_value(task).map_err(not_understood)?;
        match self.ask(Task::Custom { program: T::PROGRAM.to_owned(), payload }, deadline).await? {
            Answer::Custom { payload } => serde_json::from_value(payload).map_err(not_understood),
            other => Err(unexpected(&other)),
        }
    }
}

fn not_understood(error: serde_json::Error) -> Failure {
    Failure { why: Why::NotUnderstood, message: error.to_string() }
}
