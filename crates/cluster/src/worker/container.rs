//! A worker in a container that runs.

use std::time::Duration;

use docker::engine::Engine;
use docker::exec::{Command, run, start};
use docker::{Cause, container};
use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;

use super::bundle::Bundle;
use super::session::Session;
use crate::Error;

/// The longest that a worker may take to say its first word.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a worker in a container runs without contact to its caller, whose end it cannot see where the
/// engine was killed.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(20);
/// What is held back of a worker's output until it is read, in bytes.
const PIPE_BYTES: usize = 64 << 10;

/// Brings envdoc's worker into a container; [`forget_worker`] takes it away again.
pub async fn deploy(engine: &Engine, name: &str, bundle: &Bundle) -> Result<(), docker::Error> {
    for _ in 0..DEPLOY_RETRIES {
        match container::upload(engine, name, "/", bundle.tar.clone()).await {
            // What was unpacked is gone at once, as when what is left of an earlier run is taken away at this
            // moment.
            Err(error) if matches!(error.cause(), Cause::FileNotFound | Cause::ProgramNotFound) => {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            filled => return filled,
        }
    }
    container::upload(engine, name, "/", bundle.tar.clone()).await
}

/// So often the worker is brought again where another one is just leaving.
const DEPLOY_RETRIES: usize = 3;

/// Starts a worker that was brought into a container which runs.
pub async fn session(engine: &Engine, name: &str, bundle: &Bundle) -> Result<Session, Error> {
    let (silence, folder) = (SILENCE_LIMIT.as_secs().to_string(), format!("/{}", Bundle::NAME));
    worker(engine, name, bundle.command("/", &["worker", "--silence", &silence, "--and-remove", &folder]))
        .await
}

/// Starts a worker by a command of one's own.
pub async fn worker(engine: &Engine, name: &str, argv: Vec<String>) -> Result<Session, Error> {
    let running = start(engine, name, &Command { argv, input: true, ..Command::default() }).await?;
    let (reader, mut pipe) = tokio::io::duplex(PIPE_BYTES);
    let id = running.id();
    let mut output = running.output;
    tokio::spawn(async move {
        while let Some(Ok(printed)) = output.next().await {
            // Before the first word, what the loader or the engine says is in the error of the session.
            if pipe.write_all(&printed.bytes).await.is_err() {
                return;
            }
        }
    });
    let mut session = Session::open(reader, running.input, START_TIMEOUT).await?;
    session.exec = Some(id);
    Ok(session)
}

/// Takes the worker's files out of a container.
pub async fn forget_worker(engine: &Engine, name: &str) -> Result<(), Error> {
    let path = format!("/{}", Bundle::NAME);
    let ran = run(engine, name, &["rm", "-rf", &path], START_TIMEOUT).await?;
    match ran.status {
        0 => Ok(()),
        status => {
            Err(Error::Command { what: "removing the worker", status, output: ran.stderr.trim().to_owned() })
        }
    }
}
