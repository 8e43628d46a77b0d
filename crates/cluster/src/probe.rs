//! A short-lived container on a node, of the cluster's image, in which envdoc's worker looks and tries: in
//! the machine's own network, or in the cluster's.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::plan::{ClusterPlan, LABEL, Node};
use crate::Error;
use crate::worker::bundle::Bundle;
use crate::worker::container as worker_container;
use crate::worker::session::Session;
use crate::worker::{Answer, Expected, Failure, Interface, Task, Why, unexpected};
use docker::container;
use docker::engine::Engine;

/// The longest that a question without the network may take.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that a connection between two nodes may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// One that runs. [`Probe::end`] removes it; what is left of one carries the cluster's label, and `down`
/// removes it.
pub struct Probe<'engine> {
    engine: &'engine Engine,
    name: String,
    session: Session,
}

impl<'engine> Probe<'engine> {
    /// Starts one. `network` is `host` or the cluster's.
    pub async fn start(
        plan: &ClusterPlan,
        node: &Node,
        engine: &'engine Engine,
        network: &str,
        bundle: &Bundle,
    ) -> Result<Probe<'engine>, Error> {
        let name = name(plan, node);
        container::remove_now(engine, &name).await?;
        let labels = BTreeMap::from([(LABEL.to_owned(), plan.name.clone())]);
        container::create_waiting(
            engine,
            &name,
            plan.image_name(),
            network,
            bundle.command("/", &["worker"]),
            &labels,
        )
        .await?;
        let started: Result<Session, Error> = async {
            worker_container::deploy(engine, &name, bundle).await?;
            container::start(engine, &name).await?;
            worker_container::session(engine, &name, bundle).await
        }
        .await;
        match started {
            Ok(session) => Ok(Probe { engine, name, session }),
            Err(why) => {
                let _ = container::remove_now(engine, &name).await;
                Err(why)
            }
        }
    }

    pub async fn end(self) {
        let _ = container::remove_now(self.engine, &self.name).await;
    }

    pub async fn ask(&self, task: Task, deadline: Duration) -> Result<Answer, Failure> {
        self.session.ask(task, deadline).await
    }

    /// Its worker.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The network interfaces.
    pub async fn interfaces(&self) -> Result<Vec<Interface>, Failure> {
        interfaces(&self.session).await
    }

    /// Whether a port of a machine takes connections.
    pub async fn connects(&self, address: &str, port: u16) -> Result<(), Failure> {
        connects(&self.session, address, port, Expected::Nothing).await.map(drop)
    }
}

/// The name of a node's.
pub fn name(plan: &ClusterPlan, node: &Node) -> String {
    format!("{}-{}-probe", plan.name, node.name)
}

/// The network interfaces that a worker sees.
pub async fn interfaces(session: &Session) -> Result<Vec<Interface>, Failure> {
    match session.ask(Task::Interfaces, LOCAL_TIMEOUT).await? {
        Answer::Interfaces { interfaces } => Ok(interfaces),
        other => Err(unexpected(&other)),
    }
}

/// The addresses of a name, where a worker is.
pub async fn resolve(session: &Session, name: &str) -> Result<Vec<IpAddr>, Failure> {
    match session.ask(Task::Resolve { name: name.to_owned() }, LOCAL_TIMEOUT).await? {
        Answer::Resolved { addresses } => Ok(addresses),
        other => Err(unexpected(&other)),
    }
}

/// Connects from where a worker is; what the other side said first, where that was waited for.
pub async fn connects(
    session: &Session,
    address: &str,
    port: u16,
    expected: Expected,
) -> Result<Option<String>, Failure> {
    let task = Task::ConnectTcp { address: address.to_owned(), port, expected };
    match session.ask(task, CONNECT_TIMEOUT).await? {
        Answer::Connected { greeting, .. } => Ok(greeting),
        other => Err(unexpected(&other)),
    }
}

/// The interface that has an address.
pub fn with_address(interfaces: &[Interface], address: IpAddr) -> Option<&Interface> {
    interfaces.iter().find(|interface| interface.addresses.iter().any(|(own, _)| *own == address))
}

/// Connects to a listener of another worker, which must be the one that answers. Milliseconds until the
/// connection was established.
pub async fn connect_to_worker(
    from: &Session,
    to: &Session,
    (address, port): (IpAddr, u16),
    deadline: Duration,
) -> Result<f64, Failure> {
    let expected = Expected::Worker;
    let task = Task::ConnectTcp { address: address.to_string(), port, expected };
    let (milliseconds, greeting) = match from.ask(task, deadline).await? {
        Answer::Connected { milliseconds, greeting, .. } => (milliseconds, greeting),
        other => return Err(unexpected(&other)),
    };
    match greeting {
        Some(other) if other != to.hello.nonce => {
            let message = format!("a different worker answers at {address}");
            Err(Failure { why: Why::Other, message })
        }
        _ => Ok(milliseconds),
    }
}
