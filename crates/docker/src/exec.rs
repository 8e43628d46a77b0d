//! Programs in a container that runs: with their output as it comes, their input, and how they ended.

use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::{Stream, StreamExt};
use tokio::io::AsyncWrite;

use super::container::Printed;
use super::engine::{Engine, answered};
use super::run::Ran;
use crate::error::{Error, Waited};

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
        let started = answered(engine.docker.start_exec(&id, None::<StartExecOptions>)).await?;
        let StartExecResults::Attached { output, input } = started else {
            return Err(Error::other("the engine did not attach to the command's output"));
        };
        let output = output.map(|chunk| {
            chunk.map_err(Error::from).map(|chunk| Printed {
                error: matches!(chunk, LogOutput::StdErr { .. }),
                bytes: chunk.into_bytes().to_vec(),
            })
        });
        Ok(Running { id, output: Box::pin(output), input })
    })
}

impl Running {
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
