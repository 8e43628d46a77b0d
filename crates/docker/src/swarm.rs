//! A machine's engine as a whole, and its swarm: what it says of itself, starting, joining and leaving.

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::time::Duration;

use bollard::models::{LocalNodeState, NodeState, SwarmInitRequest, SwarmJoinRequest, SwarmSpec, SystemInfo};
use bollard::query_parameters::{
    DeleteNodeOptions, LeaveSwarmOptions, ListConfigsOptions, ListNetworksOptions, ListNodesOptions,
    ListSecretsOptions, ListServicesOptions, ListVolumesOptions,
};

use super::engine::{Engine, answered, within};
use crate::error::{Cause, EngineMessage, Error};
use crate::network;

/// The longest that starting, joining or leaving a swarm may take to be answered. The engine itself gives up
/// waiting for a join after 20 s, and goes on with it.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(40);

/// What an engine says of its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The engine's own id. Two nodes with the same one are the same engine.
    pub id: String,
    pub hostname: String,
    /// `x86_64`.
    pub architecture: Option<String>,
    /// Where it keeps images and containers.
    pub data_root: Option<String>,
    /// Its clock, as RFC 3339.
    pub time: Option<String>,
    /// What it is in a swarm.
    pub swarm: Membership,
    /// The OCI runtimes that it knows.
    pub runtimes: Vec<String>,
}

/// What an engine is in a swarm.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Membership {
    /// How far it is.
    pub state: State,
    /// Its id there.
    pub node: String,
    /// Its address there, without a port.
    pub address: String,
    pub manager: bool,
    /// The swarm's id; only managers know it.
    pub swarm: Option<String>,
    /// The managers' addresses with ports, as this engine knows them.
    pub managers: Vec<String>,
    pub manager_ids: Vec<String>,
    /// Why it is not well, in the engine's words.
    pub error: EngineMessage,
}

/// How far an engine is in a swarm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// In none.
    #[default]
    Inactive,
    /// Joining.
    Pending,
    /// In one.
    Active,
    /// In one, and something is wrong.
    Error,
    /// In one that waits for its unlock key.
    Locked,
}

/// A member of a swarm, as a manager sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// As `docker node ls` shows it; a node that leaves and joins again has another one.
    pub id: String,
    /// Its machine's host name.
    pub hostname: String,
    /// Its address as the manager sees it.
    pub address: String,
    /// Whether the manager hears from it.
    pub ready: bool,
    /// The manager's words on its state.
    pub status: EngineMessage,
    pub manager: bool,
}

/// What lets an engine join: shown nowhere, kept nowhere.
pub struct Token(String);

/// Asks an engine about its machine.
pub fn machine<'a>(engine: &'a Engine) -> BoxFuture<'a, Result<Machine, Error>> {
    Box::pin(async move { answered(engine.docker.info()).await.map(from_info) })
}

fn from_info(info: SystemInfo) -> Machine {
    let swarm = info.swarm.unwrap_or_default();
    let peers = swarm.remote_managers.unwrap_or_default();
    let state = match swarm.local_node_state {
        Some(LocalNodeState::PENDING) => State::Pending,
        Some(LocalNodeState::ACTIVE) => State::Active,
        Some(LocalNodeState::ERROR) => State::Error,
        Some(LocalNodeState::LOCKED) => State::Locked,
        Some(LocalNodeState::INACTIVE | LocalNodeState::EMPTY) | None => State::Inactive,
    };
    let membership = Membership {
        state,
        node: swarm.node_id.unwrap_or_default(),
        address: swarm.node_addr.unwrap_or_default(),
        manager: swarm.control_available.unwrap_or(false),
        swarm: swarm.cluster.and_then(|cluster| cluster.id).filter(|id| !id.is_empty()),
        managers: peers.iter().filter_map(|peer| peer.addr.clone()).collect(),
        manager_ids: peers.into_iter().filter_map(|peer| peer.node_id).collect(),
        error: EngineMessage::new(&swarm.error.unwrap_or_default()),
    };
    let mut runtimes: Vec<_> = info.runtimes.unwrap_or_default().into_keys().collect();
    runtimes.sort();
    Machine {
        id: info.id.unwrap_or_default(),
        hostname: info.name.unwrap_or_default(),
        architecture: info.architecture,
        data_root: info.docker_root_dir,
        time: info.system_time,
        swarm: membership,
        runtimes,
    }
}

/// Starts a swarm with these labels, of which this engine is the manager.
pub fn init<'a>(
    engine: &'a Engine,
    address: &'a str,
    labels: &'a BTreeMap<String, String>,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let request = SwarmInitRequest {
            listen_addr: Some("0.0.0.0:2377".into()),
            advertise_addr: Some(address.to_owned()),
            spec: Some(SwarmSpec {
                labels: Some(labels.clone().into_iter().collect()),
                ..Default::default()
            }),
            ..Default::default()
        };
        within(CHANGE_TIMEOUT, engine.docker.init_swarm(request)).await.map(drop)
    })
}

/// The labels of a manager's swarm.
pub fn labels<'a>(manager: &'a Engine) -> BoxFuture<'a, Result<BTreeMap<String, String>, Error>> {
    Box::pin(async move {
        let swarm = answered(manager.docker.inspect_swarm()).await?;
        Ok(swarm.spec.and_then(|spec| spec.labels).unwrap_or_default().into_iter().collect())
    })
}

/// What a swarm holds besides its members; all of it is lost with the last manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub services: Vec<String>,
    pub secrets: Vec<String>,
    pub configs: Vec<String>,
    /// Names of its cluster volumes (CSI).
    pub volumes: Vec<String>,
    /// Its networks with their labels, without the ingress network that every swarm has.
    pub networks: BTreeMap<String, BTreeMap<String, String>>,
}

/// Lists what a manager's swarm holds.
pub fn contents<'a>(manager: &'a Engine) -> BoxFuture<'a, Result<Contents, Error>> {
    Box::pin(async move {
        let docker = &manager.docker;
        let (services, secrets, configs, volumes, networks) = tokio::join!(
            answered(docker.list_services(None::<ListServicesOptions>)),
            answered(docker.list_secrets(None::<ListSecretsOptions>)),
            answered(docker.list_configs(None::<ListConfigsOptions>)),
            answered(docker.list_volumes(None::<ListVolumesOptions>)),
            answered(docker.list_networks(None::<ListNetworksOptions>)),
        );
        let (services, secrets, configs) =
            (services?.into_iter(), secrets?.into_iter(), configs?.into_iter());
        let volumes = volumes?.volumes.unwrap_or_default().into_iter();
        let name = |name: Option<String>, id: Option<String>| name.or(id).unwrap_or_default();
        let swarm_wide = |network: &bollard::models::Network| {
            network.scope.as_deref().is_some_and(network::is_swarm_wide) && network.ingress != Some(true)
        };
        Ok(Contents {
            services: services.map(|one| name(one.spec.and_then(|spec| spec.name), one.id)).collect(),
            secrets: secrets.map(|one| name(one.spec.and_then(|spec| spec.name), one.id)).collect(),
            configs: configs.map(|one| name(one.spec.and_then(|spec| spec.name), one.id)).collect(),
            volumes: volumes.filter(|one| one.cluster_volume.is_some()).map(|one| one.name).collect(),
            networks: networks?
                .into_iter()
                .filter(swarm_wide)
                .map(|one| (name(one.name, one.id), one.labels.unwrap_or_default().into_iter().collect()))
                .collect(),
        })
    })
}

/// What workers join a manager's swarm with.
pub fn token<'a>(manager: &'a Engine) -> BoxFuture<'a, Result<Token, Error>> {
    Box::pin(async move {
        let swarm = answered(manager.docker.inspect_swarm()).await?;
        let token = swarm.join_tokens.and_then(|tokens| tokens.worker);
        token.map(Token).ok_or_else(|| Error::other("the manager returned no join token"))
    })
}

/// Joins a swarm as a worker. An answer that does not come in time is no failure: the join goes on, and
/// [`machine`] tells how far it is.
pub fn join<'a>(
    engine: &'a Engine,
    address: &'a str,
    manager: &'a str,
    token: &'a Token,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let request = SwarmJoinRequest {
            listen_addr: Some("0.0.0.0:2377".into()),
            advertise_addr: Some(address.to_owned()),
            remote_addrs: Some(vec![manager.to_owned()]),
            join_token: Some(token.0.clone()),
            ..Default::default()
        };
        match within(CHANGE_TIMEOUT, engine.docker.join_swarm(request)).await {
            Err(Error::TimedOut { .. }) => Ok(()),
            Err(error) if *error.cause() == Cause::JoinContinues => Ok(()),
            joined => joined.map_err(|error| error.without(&token.0)),
        }
    })
}

/// Leaves the swarm; with `force` also as its last manager, which ends the swarm.
pub fn leave<'a>(engine: &'a Engine, force: bool) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        within(CHANGE_TIMEOUT, engine.docker.leave_swarm(Some(LeaveSwarmOptions { force }))).await
    })
}

/// The members of a manager's swarm.
pub fn members<'a>(manager: &'a Engine) -> BoxFuture<'a, Result<Vec<Member>, Error>> {
    Box::pin(async move {
        let nodes = answered(manager.docker.list_nodes(None::<ListNodesOptions>)).await?;
        Ok(nodes.into_iter().map(member).collect())
    })
}

fn member(node: bollard::models::Node) -> Member {
    let description = node.description.unwrap_or_default();
    let status = node.status.unwrap_or_default();
    let state = status.state.map(|state| state.to_string()).unwrap_or_default();
    Member {
        id: node.id.unwrap_or_default(),
        hostname: description.hostname.unwrap_or_default(),
        address: status.addr.unwrap_or_default(),
        ready: status.state == Some(NodeState::READY),
        status: EngineMessage::new(&[state, status.message.unwrap_or_default()].join(" ")),
        manager: node.manager_status.is_some(),
    }
}

/// Takes a member that has left off the manager's list. Without `force` the manager refuses it for a member
/// that it does not count as down yet.
pub fn remove_member<'a>(
    manager: &'a Engine,
    member: &'a str,
    force: bool,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(
        async move { answered(manager.docker.delete_node(member, Some(DeleteNodeOptions { force }))).await },
    )
}
