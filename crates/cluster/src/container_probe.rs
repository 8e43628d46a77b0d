//! A container of the cluster that runs, looked at from inside: what it sees of the others.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::plan::{ClusterPlan, Node};
use super::probe;
use super::request::NetworkKind;
use crate::Error;
use crate::ssh::LoginError;
use crate::worker::bundle::Bundle;
use crate::worker::container as worker_container;
use crate::worker::session::Session;
use crate::worker::{Answer, Expected, Failure, Interface, Task, Why};
use docker::container;
use docker::engine::Engine;
use docker::exec::{self, Command};

/// Where an engine answers DNS questions of containers in a network that it made.
pub const ENGINE_DNS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 11));
/// The longest that a search for the largest packet may take.
const MTU_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest that a listener for it stays open.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest that reading a file of a container may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest that a login from one container to another may take.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest that the server of a container's own resolver may take.
const OWN_SERVER_TIMEOUT: Duration = Duration::from_secs(3);

/// A container that was looked into.
pub struct ContainerProbe<'w> {
    pub node: &'w Node,
    pub engine: &'w Engine,
    /// The worker in it.
    pub session: Arc<Session>,
    /// Its address in the cluster's network.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: String,
    /// The interface's MTU in bytes.
    pub mtu: Option<u32>,
    pub interfaces: Vec<Interface>,
    /// Where it waits for datagrams.
    pub port: u16,
}

/// What came of one container trying another.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The place of the one.
    pub from: usize,
    /// The place of the other.
    pub to: usize,
    /// Whether the name gives the other's address.
    pub name: Result<(), Unresolved>,
    /// Whether a connection stands.
    pub connects: Result<(), Failure>,
    /// Whether somebody answered for the other's hardware address, where no connection stands; `None` where
    /// that is not known.
    pub neighbour: Option<bool>,
    /// The largest packet that arrived, in bytes.
    pub packet: Option<u32>,
    /// Whether ssh gets in without a prompt; `None` where there is no SSH server.
    pub ssh: Option<Result<(), LoginError>>,
}

/// A name that does not give the address that it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// What came, in words.
    pub message: String,
    /// The addresses that it gives instead.
    pub instead: Vec<IpAddr>,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Tried {
    /// Whether one does not find the other at all.
    pub fn dead(&self) -> bool {
        self.name.is_err() || self.connects.is_err()
    }

    /// Whether the connection failed because no host answered ARP for the peer, although one answers now: the
    /// engine has since learned the container's location.
    pub fn found_late(&self) -> bool {
        let unreachable = self.connects.as_ref().is_err_and(|failure| failure.why == Why::Unreachable);
        unreachable && self.neighbour == Some(true)
    }

    /// Whether all is as it should be, for an interface of this MTU.
    pub fn well(&self, mtu: Option<u32>) -> bool {
        let whole = self.packet.is_some_and(|bytes| mtu.is_none_or(|mtu| bytes >= mtu));
        !self.dead() && whole && self.ssh.as_ref().is_none_or(Result::is_ok)
    }
}

/// Brings the worker into a node's container and reads its interfaces.
/// [`worker_container::forget_worker`] removes its files.
pub async fn enter<'w>(
    plan: &ClusterPlan,
    node: &'w Node,
    engine: &'w Engine,
    bundle: &Bundle,
) -> Result<ContainerProbe<'w>, Error> {
    worker_container::deploy(engine, &node.name, bundle).await?;
    let session = worker_container::session(engine, &node.name, bundle).await?;
    let interfaces = probe::interfaces(&session).await?;
    let address = match plan.network.kind {
        NetworkKind::Host => node.address.parse::<IpAddr>().ok(),
        NetworkKind::Overlay | NetworkKind::Existing => {
            let found = container::inspect(engine, &node.name).await?;
            found.and_then(|found| found.addresses.get(&plan.network.name)?.parse::<IpAddr>().ok())
        }
    };
    let address = address.ok_or_else(|| {
        Error::Other(format!("the container has no address in the network {}", plan.network.name))
    })?;
    let interface = probe::with_address(&interfaces, address);
    let interface = interface
        .ok_or_else(|| Error::Other(format!("no interface of the container has the address {address}")))?;
    let port = match session.ask(Task::ListenUdp { address: Some(address), port: 0 }, LISTEN_TIMEOUT).await {
        Ok(Answer::Listening { port }) => port,
        Ok(other) => return Err(crate::worker::unexpected(&other).into()),
        Err(failure) => return Err(failure.into()),
    };
    let (interface, mtu) = (interface.name.clone(), interface.mtu);
    Ok(ContainerProbe { node, engine, session: Arc::new(session), address, interface, mtu, interfaces, port })
}

/// Everything that one may try of another.
pub async fn pair(plan: &ClusterPlan, containers: &[ContainerProbe<'_>], from: usize, to: usize) -> Tried {
    let (one, other) = (&containers[from], &containers[to]);
    let (name, connects) = tokio::join!(resolves(one, other), connects(plan, one, other));
    let packet = async {
        connects.as_ref().ok()?;
        packet(one, other).await
    };
    let ssh = async {
        match &plan.ssh {
            Some(ssh) if connects.is_ok() => {
                Some(logs_in(one, &other.node.name, &ssh.user, LOGIN_TIMEOUT).await)
            }
            _ => None,
        }
    };
    let neighbour = async {
        connects.as_ref().err()?;
        neighbour(one, other).await
    };
    let (packet, ssh, neighbour) = tokio::join!(packet, ssh, neighbour);
    Tried { from, to, name, connects, neighbour, packet, ssh }
}

/// A connection to the other's SSH server, and to a port of no program: a firewall that lets ssh through lets
/// no rank through.
pub async fn connects(
    plan: &ClusterPlan,
    one: &ContainerProbe<'_>,
    other: &ContainerProbe<'_>,
) -> Result<(), Failure> {
    if let Some(ssh) = &plan.ssh {
        probe::connects(&one.session, &other.address.to_string(), ssh.port, Expected::Line).await?;
    }
    listened(one, other).await
}

/// Whether the other's name gives its address.
pub async fn resolves(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Result<(), Unresolved> {
    let unknown = |failure: Failure| Unresolved { message: failure.message, instead: Vec::new() };
    let found = probe::resolve(&one.session, &other.node.name).await.map_err(unknown)?;
    match found.contains(&other.address) {
        true => Ok(()),
        false => {
            let message = format!("{} resolves to {found:?} instead of {}", other.node.name, other.address);
            Err(Unresolved { message, instead: found })
        }
    }
}

/// Whether the DNS server of the engine, asked past the container's own resolver, knows the other's address.
/// `Ok(false)`: it answers, and has none or another one.
pub async fn engine_knows(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Result<bool, Failure> {
    let task = Task::ResolveAt { name: other.node.name.clone(), server: ENGINE_DNS };
    match one.session.ask(task, probe::CONNECT_TIMEOUT).await {
        Ok(Answer::Resolved { addresses }) => Ok(addresses.contains(&other.address)),
        Ok(answer) => Err(crate::worker::unexpected(&answer)),
        // Names of containers it answers by itself; what it asks others for, it does not know.
        Err(failure) if matches!(failure.why, Why::UnknownName | Why::NameServer) => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// What the first DNS server of a container's own resolver says of the other's name; `None` where it gives
/// an address.
pub async fn own_server(one: &ContainerProbe<'_>, name: &str, servers: &[String]) -> Option<Failure> {
    let server = servers.first()?.parse::<IpAddr>().ok()?;
    let task = Task::ResolveAt { name: name.to_owned(), server };
    let failure = one.session.ask(task, OWN_SERVER_TIMEOUT).await.err()?;
    Some(match failure.why {
        Why::TimedOut => {
            let message = format!("{server} does not answer within {} s", OWN_SERVER_TIMEOUT.as_secs());
            Failure { message, ..failure }
        }
        _ => failure,
    })
}

/// The DNS servers that a container's resolver is set to; empty where its file cannot be read.
pub async fn nameservers(one: &ContainerProbe<'_>) -> Vec<String> {
    let argv = ["cat", "/etc/resolv.conf"];
    let ran = exec::run(one.engine, &one.node.name, &argv, FILE_TIMEOUT).await;
    let lines = ran.map(|ran| ran.stdout).unwrap_or_default();
    lines.lines().filter_map(|line| Some(line.strip_prefix("nameserver")?.trim().to_owned())).collect()
}

/// Whether somebody answered for the other's hardware address when it was last tried; `None` where that
/// cannot be seen.
pub async fn neighbour(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Option<bool> {
    let task = Task::Neighbour { address: other.address };
    match one.session.ask(task, probe::CONNECT_TIMEOUT).await {
        Ok(Answer::Neighbour { hardware }) => Some(hardware.is_some()),
        _ => None,
    }
}

/// Whether a datagram gets from one container to the other, through the network that they share.
pub async fn datagram(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Result<(), Failure> {
    let address = other.address.to_string();
    let task = Task::SendUdp { address, port: other.port, size: 200, dont_fragment: false };
    one.session.ask(task, probe::CONNECT_TIMEOUT).await.map(drop)
}

/// A connection to a listener of the other's worker, which must be the one that answers.
pub async fn listened(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Result<(), Failure> {
    let task = Task::ListenTcp { address: Some(other.address), port: 0 };
    let listening = other.session.start(task, probe::CONNECT_TIMEOUT * 2).await;
    // It is the other side that has no port; [`Why::NoFreePort`] is about this one.
    let listening = listening.map_err(|failure| match failure.why {
        Why::NoFreePort => {
            let message = format!("{} cannot listen: {}", other.node.name, failure.message);
            Failure { why: Why::Other, message }
        }
        _ => failure,
    });
    let (listener, port) = match listening? {
        (listener, Answer::Listening { port }) => (listener, port),
        (_, answer) => return Err(crate::worker::unexpected(&answer)),
    };
    let endpoint = (other.address, port);
    let connected =
        probe::connect_to_worker(&one.session, &other.session, endpoint, probe::CONNECT_TIMEOUT).await;
    let _ = other.session.ask(Task::Stop { listener }, probe::CONNECT_TIMEOUT).await;
    connected.map(drop)
}

/// The largest packet that arrives, in bytes; `None` where no datagram does.
pub async fn packet(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>) -> Option<u32> {
    let largest = one.mtu.unwrap_or(1500);
    let task = Task::PathMtu { address: other.address.to_string(), port: other.port, largest };
    match one.session.ask(task, MTU_TIMEOUT).await {
        Ok(Answer::PathMtu { bytes, .. }) => Some(bytes),
        _ => None,
    }
}

/// Whether passwordless ssh works.
pub async fn logs_in(
    one: &ContainerProbe<'_>,
    other: &str,
    user: &str,
    limit: Duration,
) -> Result<(), LoginError> {
    // Half of it for the connection, so that ssh's own words of a connection that fails are still read.
    let connecting = format!("ConnectTimeout={}", limit.as_secs() / 2);
    let argv = ["ssh", "-o", "BatchMode=yes", "-o", &connecting, other, "true"].map(str::to_owned).to_vec();
    let command = Command { argv, user: Some(user.to_owned()), ..Command::default() };
    let ran = exec::whole(one.engine, &one.node.name, &command, limit).await?;
    match ran.status {
        0 => Ok(()),
        _ => Err(LoginError::of(&ran.stderr)),
    }
}

/// What the entrypoint pinned NCCL to.
pub async fn pinned(one: &ContainerProbe<'_>) -> Option<String> {
    let ran = exec::run(one.engine, &one.node.name, &["cat", "/etc/nccl.conf"], FILE_TIMEOUT).await.ok()?;
    let line =
        ran.stdout.lines().find_map(|line| line.strip_prefix("NCCL_SOCKET_IFNAME=").map(str::to_owned))?;
    Some(line.trim_start_matches('=').to_owned())
}
