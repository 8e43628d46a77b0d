//! Why something on a node failed.

use std::time::Duration;

use super::not_running::NotRunning;
use diagnostic::Fix;
use docker::{Cause, EngineMessage};
use facts::fleet::Why;
use serde::{Deserialize, Serialize};

/// Why a worker could not do something; part of its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What callers decide by; the message is for people.
    pub why: Why,
    /// In the system's words.
    pub message: String,
}

/// A record of the cluster's machines that cannot be read: another version of envdoc wrote it, or it is
/// damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read which machines the cluster was started on (label {label} of the volume {volume}): {reason}"
)]
pub struct UnreadableRecord {
    /// The label that holds it.
    pub label: &'static str,
    pub volume: String,
    /// In the parser's words.
    pub reason: String,
}

impl UnreadableRecord {
    /// What to do about it; `node` has the record.
    pub fn fix(&self, node: &str) -> Fix {
        Fix::run(
            format!(
                "Use the version of envdoc that wrote the record, or remove it (nodes that were removed from \
                    cluster.yaml since are not found without it), on {node}:"
            ),
            format!("docker volume rm {}", self.volume),
        )
    }
}

/// Why something on a node failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The Docker engine reports it.
    #[error(transparent)]
    Engine(#[from] docker::Error),
    /// A worker reports it.
    #[error("{0}")]
    Worker(Failure),
    /// What was printed in place of a worker's greeting: an error of ssh, of the engine, of the loader.
    #[error("{0}")]
    NoWorker(EngineMessage),
    /// The worker's output could not be read, or its input not written.
    #[error("{0}")]
    WorkerPipe(String),
    /// Nothing was printed in place of a worker's greeting.
    #[error("the worker exited without output")]
    SilentWorker,
    /// The error in the state of an engine's swarm.
    #[error("{0}")]
    Swarm(EngineMessage),
    /// What the manager reports of a member that is not ready.
    #[error("manager: {0}")]
    Member(EngineMessage),
    /// A node did not become ready.
    #[error("not ready after {} s; {last}", after.as_secs())]
    NotReady {
        after: Duration,
        /// Its last state.
        last: Box<Error>,
    },
    /// A worker of another version.
    #[error(
        "the worker is envdoc {envdoc} (protocol {protocol}), this envdoc is {} (protocol {own})",
        env!("CARGO_PKG_VERSION")
    )]
    OtherProtocol {
        /// The worker's version.
        envdoc: String,
        /// The worker's protocol.
        protocol: u32,
        /// The protocol of this envdoc.
        own: u32,
    },
    /// envdoc is built for another processor than the image or machine.
    #[error("it is {architecture}, but this envdoc is built for {}", std::env::consts::ARCH)]
    Architecture {
        /// The processor there: `aarch64`.
        architecture: String,
    },
    /// The deadline passed.
    #[error("{what} within {:.1} s", after.as_secs_f64())]
    TimedOut {
        /// What did not happen: `the worker did not start`.
        what: &'static str,
        after: Duration,
    },
    /// A command ended with an error.
    #[error("{what} failed with exit status {status}: {output}")]
    Command {
        /// Which: `copying envdoc to the node`.
        what: &'static str,
        /// Its exit status.
        status: i64,
        output: String,
    },
    /// Its container does not run.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// The record of the cluster's machines cannot be read.
    #[error(transparent)]
    Record(#[from] UnreadableRecord),
    /// The connection to the node failed.
    #[error("{0}")]
    Connection(String),
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// What the engine names as the cause; [`Cause::Unknown`] where it is not the engine's.
    pub fn cause(&self) -> Cause {
        match self {
            Error::Engine(error) => error.cause().clone(),
            Error::NoWorker(message) | Error::Swarm(message) | Error::Member(message) => {
                message.cause().clone()
            }
            Error::NotReady { last, .. } => last.cause(),
            _ => Cause::Unknown,
        }
    }

    /// What to do about it, where that is certain; `node` is where it happened.
    pub fn fix(&self, node: &str) -> Option<Fix> {
        match self {
            Error::Record(unreadable) => Some(unreadable.fix(node)),
            _ => None,
        }
    }

    /// Whether an open connection to the engine was closed, as by an engine that restarts.
    pub fn is_closed(&self) -> bool {
        matches!(self, Error::Engine(error) if error.is_closed())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Worker(failure)
    }
}
