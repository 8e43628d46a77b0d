//! The way to a machine, envdoc on it, what it reads there and its worker: over SSH all of it in one session.

use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::Options;
use crate::bootstrap::{self, Found, Parcel};
use crate::nodes::{self, Location, Node, Worker};
use crate::plan;
use diagnostic::error::{Error, Kind};
use docker::transport::Transport;
use docker::transport::ssh::{Ran, Shell};
use host::snapshot::Snapshot;

/// How envdoc is started on a machine, and what came of it so far.
pub(super) struct Program {
    pub(super) command: String,
    /// What it read there; none where it was not asked yet.
    pub(super) snapshot: Option<Result<Snapshot, crate::Error>>,
    /// Its worker; none where there is none yet.
    pub(super) worker: Option<Result<Worker, crate::Error>>,
}

/// What is on a machine.
pub(super) enum Envdoc {
    /// envdoc, of this version.
    Runs(Box<Program>),
    /// Not that one.
    Missing {
        /// Its processor, as the kernel says: `x86_64`.
        architecture: String,
        /// The version of another envdoc that is there.
        other: Option<String>,
    },
}

/// This program, made into a parcel when the first machine needs to know its digest.
#[derive(Default)]
pub(super) struct Packing(OnceCell<Result<Parcel, Error>>);

impl Packing {
    async fn digest(&self) -> Result<&str, crate::Error> {
        let pack = || async {
            let packed = tokio::task::spawn_blocking(Parcel::pack).await;
            packed.unwrap_or_else(|error| Err(Error::new(Kind::File, error.to_string())))
        };
        let parcel = self.0.get_or_init(pack).await;
        parcel
            .as_ref()
            .map(|parcel| parcel.digest.as_str())
            .map_err(|error| crate::Error::Other(error.message.clone()))
    }

    /// The parcel, where one was made.
    pub(super) fn done(self) -> Result<Option<Parcel>, Error> {
        self.0.into_inner().transpose()
    }
}

/// Goes there. With `worker`, there is one at the end.
pub(super) async fn reach_node(
    node: &plan::Node,
    packing: &Packing,
    options: Options,
    worker: bool,
) -> (Node, Result<Envdoc, crate::Error>) {
    let started = Instant::now();
    let opened = started + options.limits.each;
    let asking = nodes::asking(options.look);
    if node.engine.ssh().is_none() {
        let transport = Transport::connect(&node.engine, node.tls.as_deref(), opened).await;
        let mut node = Node::new(node, transport, Duration::ZERO);
        let envdoc = local(&node, options, worker).await;
        node.took = started.elapsed();
        return (node, envdoc);
    }
    let script = |address: &_| bootstrap::script(address, &asking, worker);
    let (transport, talk) = match Transport::connect_shell(&node.engine, script, opened).await {
        Ok((transport, talk)) => (Ok(transport), Some(talk)),
        Err(blocked) => (Err(blocked), None),
    };
    let mut node = Node::new(node, transport, Duration::ZERO);
    let envdoc = match talk {
        Some(talk) => {
            let (envdoc, talk) = over_ssh(&node, talk, packing, options, worker).await;
            node.held = talk;
            envdoc
        }
        None => Err(node.unreachable()),
    };
    node.took = started.elapsed();
    (node, envdoc)
}

async fn local(node: &Node, options: Options, worker: bool) -> Result<Envdoc, crate::Error> {
    let Location::Here = node.location() else { return Err(node.unreachable()) };
    let command = bootstrap::own()?;
    let worker = match worker {
        true => Some(node.worker(&command, options.limits.each).await),
        false => None,
    };
    Ok(Envdoc::Runs(Box::new(Program { command, snapshot: None, worker })))
}

/// The second is the session, where nothing else needs it: as long as it lasts, so does the connection.
async fn over_ssh(
    node: &Node,
    mut talk: Shell,
    packing: &Packing,
    options: Options,
    worker: bool,
) -> (Result<Envdoc, crate::Error>, Option<Shell>) {
    let limit = options.limits.each + options.look;
    let answers = async { bootstrap::answers(&mut talk, packing.digest().await?).await };
    let answers = tokio::time::timeout(limit, answers).await;
    let said = || match node.location() {
        Location::There(connection) => connection.log().trim().to_owned(),
        _ => String::new(),
    };
    let (found, ran) = match answers {
        Ok(Ok(answers)) => answers,
        Ok(Err(why)) => {
            let message = format!("{why} {}", said()).trim_end().to_owned();
            return (Err(crate::Error::Connection(message)), Some(talk));
        }
        Err(_) => {
            let message =
                format!("envdoc on {} did not finish within {:.0} s", node.name, limit.as_secs_f64());
            return (Err(crate::Error::Connection(message)), Some(talk));
        }
    };
    let command = match found {
        Found::Program(command) => command,
        Found::Missing { architecture, other } => {
            return (Ok(Envdoc::Missing { architecture, other }), Some(talk));
        }
    };
    let snapshot = ran.map(|ran| nodes::snapshot_of(&Ran { stderr: said(), ..ran }));
    let (worker, talk) = match worker {
        true => (Some(Worker::of(talk, options.limits.each).await), None),
        false => (None, Some(talk)),
    };
    (Ok(Envdoc::Runs(Box::new(Program { command, snapshot, worker }))), talk)
}
