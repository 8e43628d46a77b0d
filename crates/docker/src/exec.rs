//! Programs in a container that runs: with their output as it comes, their input, and how they ended.

use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::time::Duration;

use bollard::exec::CreateExecOptions;
use futures_util::{Stream, StreamExt};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWrite;

use super::container::Printed;
use super::engine::{Engine, answered};
use super::run::Ran;
use crate::error::{ANSWER_TIMEOUT, Error, Waited};
use crate::http;
use crate::printed::{self, encoded};
use facts::docker::Endpoint;

/// The most that is kept of the output of a program that is run to its end, in bytes.
const OUTPUT_LIMIT_BYTES: usize = 64 << 20;

/// What is to be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments; no shell is put before them.
    pub argv: Vec<String>,
    /// `NAME=VALUE`, in addition to the container's.
    pub environment: Vec<String>,
    /// Whether it reads what is written to it.
    pub input: bool,
    /// The user, where it is not the container's.
    pub user: Option<String>,
}

/// A program that was started.
pub struct Running {
    id: String,
    /// What it prints, until it ends.
    pub output: Pin<Box<dyn Stream<Item = Result<Printed, Error>> + Send>>,
    /// What it reads.
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
}

/// Starts a program.
pub fn start<'a>(
    engine: &'a Engine,
    name: &'a str,
    command: &'a Command,
) -> BoxFuture<'a, Result<Running, Error>> {
    Box::pin(async move {
        let options = CreateExecOptions {
            attach_stdin: Some(command.input),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(command.environment.clone()),
            cmd: Some(command.argv.clone()),
            user: command.user.clone(),
            ..Default::default()
        };
        let id = answered(engine.docker.create_exec(name, options)).await?.id;
        let upgraded = tokio::time::timeout(ANSWER_TIMEOUT, attach(engine.transport.local(), &id)).await;
        let upgraded = upgraded.map_err(|_| Error::answer_timeout(ANSWER_TIMEOUT))??;
        let (output, input) = tokio::io::split(TokioIo::new(upgraded));
        Ok(Running { id, output: printed::attached(output), input: Box::pin(input) })
    })
}

/// Starts it; the connection then carries its input and its output.
async fn attach(endpoint: &Endpoint, id: &str) -> Result<hyper::upgrade::Upgraded, Error> {
    let request = hyper::Request::post(format!("/exec/{}/start", encoded(id)))
        .header("Content-Type", "application/json")
        .header("Connection", "Upgrade")
        .header("Upgrade", "tcp")
        .body(Full::from(r#"{"Detach":false,"Tty":false}"#));
    let answer = http::send(endpoint, request.map_err(Error::other)?).await?;
    hyper::upgrade::on(answer).await.map_err(Error::from)
}

/// What an engine calls a program that it started in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecId(String);

/// The exit status of a program; `None` where it runs still. Engines know it for some minutes.
pub async fn ended(engine: &Engine, id: &ExecId) -> Result<Option<i64>, Error> {
    exit_status(engine, &id.0).await
}

impl Running {
    /// By which [`ended`] finds it.
    pub fn id(&self) -> ExecId {
        ExecId(self.id.clone())
    }

    /// Its exit status once its output has ended; `None` where it runs still.
    pub async fn status(&self, engine: &Engine) -> Result<Option<i64>, Error> {
        exit_status(engine, &self.id).await
    }
}

async fn exit_status(engine: &Engine, id: &str) -> Result<Option<i64>, Error> {
    let found = answered(engine.docker.inspect_exec(id)).await?;
    Ok(found.exit_code.filter(|_| found.running != Some(true)))
}

/// Runs a program to its end.
pub fn run<'a>(
    engine: &'a Engine,
    name: &'a str,
    argv: &'a [&'a str],
    deadline: Duration,
) -> BoxFuture<'a, Result<Ran, Error>> {
    Box::pin(async move {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        whole(engine, name, &Command { argv, ..Command::default() }, deadline).await
    })
}

/// [`run`], with everything that a command may have.
pub fn whole<'a>(
    engine: &'a Engine,
    name: &'a str,
    command: &'a Command,
    deadline: Duration,
) -> BoxFuture<'a, Result<Ran, Error>> {
    Box::pin(async move {
        let whole = async {
            let mut running = start(engine, name, command).await?;
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            while let Some(printed) = running.output.next().await {
                let printed = printed?;
                if printed.error { &mut stderr } else { &mut stdout }.extend_from_slice(&printed.bytes);
                if stdout.len() + stderr.len() > OUTPUT_LIMIT_BYTES {
                    let limit_kib = OUTPUT_LIMIT_BYTES as u64 >> 10;
                    return Err(Error::TooLarge { what: "the output of the command", limit_kib });
                }
            }
            let status = exit_status(engine, &running.id)
                .await?
                .ok_or_else(|| Error::other("the command closed its output but is still running"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok(Ran { status, stdout: text(&stdout), stderr: text(&stderr) })
        };
        match tokio::time::timeout(deadline, whole).await {
            Ok(ran) => ran,
            Err(_) => Err(Error::TimedOut { what: Waited::CommandExit, after: deadline }),
        }
    })
}
