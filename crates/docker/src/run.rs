//! One container to its end: what it printed and how it ended. It is removed after, whatever happens.

use futures_util::future::BoxFuture;
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::WaitContainerOptions;
use futures_util::StreamExt;

use super::container::{self, request};
use super::engine::Engine;
use crate::error::{ANSWER_TIMEOUT, Error, Waited};
use crate::printed::{self, Log};
use crate::spec::Run;
use facts::docker::Endpoint;

/// Label of these containers: `docker ps -a --filter label=envdoc.run` finds one that was left behind.
const LABEL: &str = "envdoc.run";
/// The most that is kept of each output, in bytes.
const OUTPUT_LIMIT_BYTES: usize = 8 << 20;
/// How often an empty log is read again, and after which time.
const EMPTY_LOG_RETRIES: u32 = 4;
const EMPTY_LOG_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// Its exit status.
    pub status: i64,
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
}

/// Why there is no end to tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRan {
    /// The container could not be made or started, or did not end in time.
    Container(Error),
    /// The engine did not do what it should.
    Engine(Error),
}

/// Runs. Where this is dropped half way, [`remove`] with the same name cleans up.
pub fn run<'a>(engine: &'a Engine, name: &'a str, run: &'a Run) -> BoxFuture<'a, Result<Ran, NotRan>> {
    Box::pin(async move {
        let ran = match tokio::time::timeout(run.deadline, attempt(engine, name, run)).await {
            Ok(ran) => ran,
            Err(_) => {
                Err(NotRan::Container(Error::TimedOut { what: Waited::ContainerExit, after: run.deadline }))
            }
        };
        match (remove(engine, name).await, ran) {
            (Err(left), Ok(_)) => Err(NotRan::Engine(left)),
            (_, ran) => ran,
        }
    })
}

/// Removes a container, running or not.
pub fn remove<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let removed = container::delete(&engine.docker, name, true, ANSWER_TIMEOUT).await;
        removed
            .map(drop)
            .map_err(|error| Error::LeftBehind { name: name.to_owned(), source: Box::new(error) })
    })
}

async fn attempt(engine: &Engine, name: &str, run: &Run) -> Result<Ran, NotRan> {
    let of_container = |error: Error| match error {
        Error::Engine { status: Some(_), .. } => NotRan::Container(error),
        other => NotRan::Engine(other),
    };
    let body = request::one_run(run, engine.podman, LABEL);
    container::create(&engine.docker, name, body, run.deadline).await.map_err(of_container)?;
    container::start_within(&engine.docker, name, run.deadline).await.map_err(of_container)?;
    ended(&engine.docker, engine.transport.local(), name, OUTPUT_LIMIT_BYTES).await.map_err(NotRan::Engine)
}

/// Waits for the end of a container that was started, and takes what it printed: `most` bytes of it, more is
/// an error. `local`: the endpoint of `docker`.
pub(super) async fn ended(docker: &Docker, local: &Endpoint, name: &str, most: usize) -> Result<Ran, Error> {
    let mut waiting = std::pin::pin!(docker.wait_container(name, None::<WaitContainerOptions>));
    let status = match waiting.next().await {
        Some(Ok(end)) => end.status_code,
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
        Some(Err(error)) => return Err(error.into()),
        None => {
            return Err(Error::ConnectionClosed(
                "the engine closed the connection while waiting for the exit".into(),
            ));
        }
    };
    // Docker 26 under load was seen to answer the wait before its log had a line.
    for _ in 0..EMPTY_LOG_RETRIES {
        let (stdout, stderr) = printed(local, name, most).await?;
        if !(stdout.is_empty() && stderr.is_empty()) {
            return Ok(Ran { status, stdout, stderr });
        }
        tokio::time::sleep(EMPTY_LOG_DELAY).await;
    }
    Ok(Ran { status, ..Ran::default() })
}

/// Everything that a container printed: standard output and standard error.
async fn printed(local: &Endpoint, name: &str, most: usize) -> Result<(String, String), Error> {
    let mut pieces =
        printed::log(local, Log { name: name.to_owned(), tail: None, times: false, follow: false });
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if piece.error { &mut stderr } else { &mut stdout }.extend_from_slice(&piece.bytes);
        if stdout.len() + stderr.len() > most {
            return Err(Error::TooLarge { what: "the output", limit_kib: most as u64 >> 10 });
        }
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&stdout), text(&stderr)))
}
