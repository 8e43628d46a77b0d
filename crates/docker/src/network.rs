//! Networks of an engine.

use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};

use bollard::models::{EndpointSettings, Ipam, IpamConfig, NetworkConnectRequest, NetworkCreateRequest};
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptions};

use super::engine::{Engine, answered, optional};
use crate::error::Error;

/// The engine's name for the largest packet of a bridge or an overlay.
const MTU_OPTION: &str = "com.docker.network.driver.mtu";

/// The engine's name for the driver of networks that span machines.
const OVERLAY: &str = "overlay";

/// A network as an engine has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// 64 hexadecimal digits.
    pub id: String,
    /// As `docker network ls` shows it; several networks of an engine may have the same.
    pub name: String,
    /// `overlay`, `bridge`.
    pub driver: String,
    /// `swarm`, `local`.
    pub scope: String,
    /// Whether containers that are no swarm services may use it.
    pub attachable: bool,
    /// Its largest packet in bytes, where it was said at its making.
    pub mtu: Option<u32>,
    /// Whether an overlay is encrypted.
    pub encrypted: bool,
    /// Its addresses: `10.20.0.0/24`.
    pub subnets: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// The names of the containers on it, on this engine.
    pub containers: Vec<String>,
}

impl Network {
    /// Whether it spans the machines of a swarm with the engine's own VXLAN driver.
    pub fn is_overlay(&self) -> bool {
        self.driver == OVERLAY
    }

    /// Whether all machines of a swarm have it.
    pub fn is_swarm_wide(&self) -> bool {
        is_swarm_wide(&self.scope)
    }
}

/// Whether the scope of a network is the swarm.
pub(crate) fn is_swarm_wide(scope: &str) -> bool {
    scope == "swarm"
}

/// A network by its name; `None` where the engine has none.
pub fn inspect<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<Option<Network>, Error>> {
    Box::pin(async move {
        let network = optional(engine.docker.inspect_network(name, None::<InspectNetworkOptions>)).await?;
        Ok(network.map(from_inspect))
    })
}

/// All networks, without their containers.
pub fn list<'a>(engine: &'a Engine) -> BoxFuture<'a, Result<Vec<Network>, Error>> {
    Box::pin(async move {
        let networks = answered(engine.docker.list_networks(None::<ListNetworksOptions>)).await?;
        Ok(networks.into_iter().map(from_list).collect())
    })
}

fn from_list(network: bollard::models::Network) -> Network {
    from_inspect(bollard::models::NetworkInspect {
        name: network.name,
        id: network.id,
        scope: network.scope,
        driver: network.driver,
        ipam: network.ipam,
        attachable: network.attachable,
        options: network.options,
        labels: network.labels,
        ..Default::default()
    })
}

fn from_inspect(network: bollard::models::NetworkInspect) -> Network {
    let options = network.options.unwrap_or_default();
    let pools = network.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
    let mut containers: Vec<String> =
        network.containers.unwrap_or_default().into_values().filter_map(|container| container.name).collect();
    containers.sort();
    Network {
        id: network.id.unwrap_or_default(),
        name: network.name.unwrap_or_default(),
        driver: network.driver.unwrap_or_default(),
        scope: network.scope.unwrap_or_default(),
        attachable: network.attachable.unwrap_or(false),
        mtu: options.get(MTU_OPTION).and_then(|mtu| mtu.parse().ok()),
        encrypted: options.contains_key("encrypted"),
        subnets: pools.into_iter().filter_map(|pool| pool.subnet).collect(),
        labels: network.labels.unwrap_or_default().into_iter().collect(),
        containers,
    }
}

/// Makes an attachable overlay: name, largest packet, encryption, first subnet and labels are taken from
/// `network`.
pub fn create<'a>(manager: &'a Engine, network: &'a Network) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let mut options = HashMap::new();
        if let Some(mtu) = network.mtu {
            options.insert(MTU_OPTION.to_owned(), mtu.to_string());
        }
        if network.encrypted {
            options.insert("encrypted".to_owned(), String::new());
        }
        let pools = network
            .subnets
            .iter()
            .map(|subnet| IpamConfig { subnet: Some(subnet.clone()), ..Default::default() });
        let pools: Vec<_> = pools.collect();
        let request = NetworkCreateRequest {
            name: network.name.clone(),
            driver: Some(OVERLAY.into()),
            attachable: Some(true),
            options: Some(options),
            ipam: (!pools.is_empty()).then(|| Ipam { config: Some(pools), ..Default::default() }),
            labels: Some(network.labels.clone().into_iter().collect()),
            ..Default::default()
        };
        answered(manager.docker.create_network(request)).await.map(drop)
    })
}

/// Removes a network; whether there was one.
pub fn remove<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
    Box::pin(async move { Ok(optional(engine.docker.remove_network(name)).await?.is_some()) })
}

/// Attaches a container, under further names.
pub fn connect<'a>(
    engine: &'a Engine,
    network: &'a str,
    container: &'a str,
    aliases: &'a [String],
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let request = NetworkConnectRequest {
            container: container.to_owned(),
            endpoint_config: Some(EndpointSettings { aliases: Some(aliases.to_vec()), ..Default::default() }),
        };
        answered(engine.docker.connect_network(network, request)).await
    })
}
