//! The machines of a cluster: connections to all of them opened side by side, and what can be done on each:
//! commands, a worker, a snapshot.

use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::plan;
use crate::Error;
use crate::worker::session::Session;
use diagnostic::shell::quoted;
use docker::engine::Engine;
use docker::process;
use docker::transport::ssh::{Connection, Ran, Shell};
use docker::transport::{ConnectError, Endpoint, Transport};
use host::snapshot::Snapshot;

/// How many machines are worked on at once, and how long each may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Machines at once.
    pub width: usize,
    /// For one machine, counted from its turn.
    pub each: Duration,
}

impl Default for Limits {
    /// 32 at once: each SSH connection is a process that does cryptography when it starts.
    fn default() -> Self {
        Limits { width: 32, each: Duration::from_secs(20) }
    }
}

/// A machine, and whether it can be reached.
#[derive(Debug)]
pub struct Node {
    /// Its place in the plan, from 0.
    pub index: usize,
    /// The name of the node in cluster.yaml.
    pub name: String,
    /// The address by which the others reach it.
    pub address: String,
    /// Its engine's endpoint.
    pub engine: Endpoint,
    /// The way to it, or why there is none.
    pub transport: Result<Transport, ConnectError>,
    /// How long reaching it took.
    pub took: Duration,
    /// The session of its connection, where that must last and nothing else holds it.
    pub held: Option<Shell>,
}

/// How the machine itself, not only its engine, is reached.
#[derive(Debug)]
pub enum Location<'n> {
    Here,
    There(&'n Connection),
    /// Not at all: its endpoint is that of an engine alone.
    EngineOnly,
    /// There is no way to it.
    Blocked(&'n ConnectError),
}

/// Works on all items, so many at once; the results are in the order of the items. Each brings its own
/// deadline.
pub async fn side_by_side<I, T, W: Future<Output = T>>(
    items: impl IntoIterator<Item = I>,
    width: usize,
    work: impl Fn(I) -> W,
) -> Vec<T> {
    let numbered = items.into_iter().enumerate().map(|(index, item)| {
        let work = work(item);
        async move { (index, work.await) }
    });
    let mut done: Vec<(usize, T)> =
        futures_util::stream::iter(numbered).buffer_unordered(width.max(1)).collect().await;
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Opens connections to all nodes. Whether their engines answer is not asked yet.
pub async fn open(nodes: impl IntoIterator<Item = &plan::Node>, limits: Limits) -> Vec<Node> {
    side_by_side(nodes, limits.width, |node| async move {
        let started = Instant::now();
        let transport = Transport::connect(&node.engine, node.tls.as_deref(), started + limits.each).await;
        Node::new(node, transport, started.elapsed())
    })
    .await
}

impl Node {
    /// Of the plan's, with the way to it.
    pub fn new(node: &plan::Node, transport: Result<Transport, ConnectError>, took: Duration) -> Node {
        Node {
            index: node.index,
            name: node.name.clone(),
            address: node.address.clone(),
            engine: node.engine.clone(),
            transport,
            took,
            held: None,
        }
    }

    /// How the machine itself can be worked on.
    pub fn location(&self) -> Location<'_> {
        match &self.transport {
            Err(blocked) => Location::Blocked(blocked),
            Ok(transport) => match transport.ssh() {
                Some(connection) => Location::There(connection),
                None if self.engine.socket().is_some() => Location::Here,
                None => Location::EngineOnly,
            },
        }
    }

    /// Why the machine itself cannot be looked at, where it cannot.
    pub fn closed(&self) -> Option<String> {
        match self.location() {
            Location::Here | Location::There(_) => None,
            Location::EngineOnly => Some(format!(
                "only the Docker engine of {} is reachable ({}); use an ssh:// endpoint to inspect the \
                    machine itself",
                self.name, self.engine
            )),
            Location::Blocked(blocked) => Some(format!("{} is unreachable: {}", self.name, blocked.message)),
        }
    }

    /// The machine itself cannot be used.
    pub fn unreachable(&self) -> Error {
        Error::Connection(self.closed().unwrap_or_else(|| "this machine is inspected directly".into()))
    }

    /// The engine, asked for its version. The transport goes with it.
    pub async fn into_engine(self, deadline: Instant) -> Result<Engine, ConnectError> {
        let transport = self.transport?;
        if let Some(connection) = transport.ssh() {
            connection.check_engine(deadline).await?;
        }
        Engine::over(transport).await
    }

    /// Everything that `envdoc check` reads there, unredacted. `program` is how envdoc is started there.
    pub async fn snapshot(
        &self,
        program: &str,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<Snapshot, Error> {
        let Location::There(connection) = self.location() else {
            return Err(self.unreachable());
        };
        // The engine that the cluster uses, not the one that a login there would.
        let engine = quoted(Endpoint::unix(&connection.address.socket).as_str());
        let command = format!("env -u DOCKER_CONTEXT DOCKER_HOST={engine} {program} {}", asking(timeout));
        let ran = connection
            .run(&command, b"", deadline)
            .await
            .map_err(|blocked| Error::Connection(blocked.message))?;
        snapshot_of(&ran)
    }

    /// Starts a worker on the machine.
    pub async fn worker(&self, program: &str, deadline: Duration) -> Result<Worker, Error> {
        let mut command = match self.location() {
            Location::Here => {
                let shell =
                    host::program::command("sh").map_err(|error| Error::Other(format!("sh: {error}")))?;
                let mut command = process::command(shell);
                command.args(["-c", &format!("exec {program} worker")]).process_group(0);
                command
            }
            Location::There(connection) => connection.command(&format!("{program} worker")),
            _ => return Err(self.unreachable()),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| Error::Other(format!("cannot start a worker: {error}")))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Other("the worker process has no stdin or stdout".into()));
        };
        let session = Session::open(stdout, stdin, deadline).await?;
        Ok(Worker { session, _child: Some(child) })
    }
}

/// The words that ask envdoc for all that it reads.
pub fn asking(timeout: Duration) -> String {
    format!("snapshot --no-redact --timeout {}", timeout.as_secs_f64())
}

/// What came of that.
pub fn snapshot_of(ran: &Ran) -> Result<Snapshot, Error> {
    if ran.status != 0 {
        return Err(Error::Command {
            what: "envdoc on the node",
            status: ran.status.into(),
            output: ran.stderr.trim().to_owned(),
        });
    }
    serde_json::from_slice(&ran.stdout)
        .map_err(|error| Error::Other(format!("the output of envdoc on the node is not a snapshot: {error}")))
}

/// A worker on a machine; it ends with this.
pub struct Worker {
    /// To ask it.
    pub session: Session,
    /// None where it runs in the session of the connection itself.
    _child: Option<process::Child>,
}

impl Worker {
    /// One that was started in the session of the connection itself.
    pub async fn of(talk: Shell, deadline: Duration) -> Result<Worker, Error> {
        let session = Session::open(talk.stdout, talk.stdin, deadline).await?;
        Ok(Worker { session, _child: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn slow_task_does_not_block_others_and_order_is_kept() {
        let started = Instant::now();
        let done = side_by_side(0..20_u64, 4, |item| async move {
            tokio::time::sleep(Duration::from_millis(if item == 0 { 200 } else { 10 })).await;
            item
        })
        .await;
        assert_eq!(done, (0..20).collect::<Vec<_>>());
        assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
    }
}
