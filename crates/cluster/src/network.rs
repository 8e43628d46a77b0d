//! The network that the containers shall have, and whether the one that is there is it.

use std::net::IpAddr;

use super::observed_state::ObservedState;
use super::plan::{ClusterPlan, LABEL};
use super::problem::{Problem, Step};
use super::request::NetworkKind;
use crate::fixes;
use diagnostic::Fix;
use docker::network::Network;

const STEP: Step = Step::Network;
/// What VXLAN takes of every packet, in bytes: what libnetwork's overlay driver reckons with.
const VXLAN_OVERHEAD_BYTES: u32 = 50;
/// What the overlay driver takes for IPsec's header and padding, in bytes, before it rounds down to a
/// multiple of four.
const IPSEC_OVERHEAD_BYTES: u32 = 26;
/// What the overlay driver takes the machines' interfaces for, where nothing was said.
const DEFAULT_UNDERLAY_MTU: u32 = 1500;

/// Bytes that a packet of a container may have. The engine's option `com.docker.network.driver.mtu` of an
/// overlay says what the *machines'* interfaces carry: the driver itself subtracts what VXLAN and IPsec take.
pub fn container_mtu(underlay: u32, encrypted: bool) -> u32 {
    let mtu = underlay.saturating_sub(VXLAN_OVERHEAD_BYTES);
    if encrypted { (mtu.saturating_sub(IPSEC_OVERHEAD_BYTES)) & !3 } else { mtu }
}

/// The option that gives containers this largest packet.
fn option(container_mtu: u32, encrypted: bool) -> u32 {
    if encrypted {
        container_mtu.next_multiple_of(4) + IPSEC_OVERHEAD_BYTES + VXLAN_OVERHEAD_BYTES
    } else {
        container_mtu + VXLAN_OVERHEAD_BYTES
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Keep {
        /// Its largest packet for containers, in bytes; `None` where the engine does not say.
        mtu: Option<u32>,
        /// What a person should know.
        notes: Vec<String>,
    },
    Make,
    /// The containers have the machines' network.
    None,
}

/// Decides from what the first node has, the swarm's manager. `swarm` tells whether it has been in the swarm
/// until now: a network of an earlier life is gone with it.
pub fn decide(plan: &ClusterPlan, observed: &[ObservedState]) -> Result<Decision, Problem> {
    let name = &plan.network.name;
    let found = observed.iter().find_map(|node| node.network.as_ref());
    match (plan.network.kind, found) {
        (NetworkKind::Host, _) => Ok(Decision::None),
        (NetworkKind::Existing, None) => {
            Err(Problem::new(STEP, format!("no node has a network named {name}"))
                .fix(Fix::run("List the networks on the first node:", "docker network ls"))
                .fix(Fix::manual("Let envdoc create one: set `kind: overlay` in cluster.yaml")))
        }
        (NetworkKind::Existing, Some(found)) if !found.attachable && found.is_swarm_wide() => {
            Err(Problem::new(
                STEP,
                format!(
                    "the network {name} is not attachable; only swarm services can \
                        use it"
                ),
            )
            .fix(Fix::run(
                "Recreate it as attachable, or leave `network` out so that envdoc creates its own:",
                "docker network create --driver overlay --attachable NAME",
            )))
        }
        (NetworkKind::Existing, Some(found)) if !found.is_swarm_wide() && observed.len() > 1 => {
            Err(Problem::new(
                STEP,
                format!(
                    "the network {name} ({} driver) exists on a single machine and cannot connect \
                        containers of {} nodes",
                    found.driver,
                    observed.len()
                ),
            )
            .fix(Fix::manual("Name an overlay network in cluster.yaml, or leave `network` out")))
        }
        (NetworkKind::Existing, Some(found)) => Ok(keep(plan, found, Vec::new())),
        (NetworkKind::Overlay, None) => Ok(Decision::Make),
        (NetworkKind::Overlay, Some(found)) => compare(plan, found),
    }
}

fn keep(plan: &ClusterPlan, found: &Network, notes: Vec<String>) -> Decision {
    let mtu = found
        .is_overlay()
        .then(|| container_mtu(found.mtu.unwrap_or(DEFAULT_UNDERLAY_MTU), found.encrypted))
        .or(plan.network.mtu);
    Decision::Keep { mtu, notes }
}

fn compare(plan: &ClusterPlan, found: &Network) -> Result<Decision, Problem> {
    let name = &plan.network.name;
    if found.labels.get(LABEL) != Some(&plan.name) {
        return Err(Problem::new(
            STEP,
            format!(
                "a network {name} already exists and does not belong to this cluster ({} driver)",
                found.driver
            ),
        )
        .fix(Fix::manual("Use it as it is: set `kind: existing` in cluster.yaml"))
        .fix(Fix::manual("Choose a different name in cluster.yaml: `network: { name: … }`")));
    }
    let mut differs = Vec::new();
    let is = container_mtu(found.mtu.unwrap_or(DEFAULT_UNDERLAY_MTU), found.encrypted);
    if let Some(wanted) = plan.network.mtu
        && wanted != is
    {
        differs.push(format!("its MTU is {is}, cluster.yaml wants {wanted}"));
    }
    if found.encrypted != plan.network.encrypted {
        let word = |encrypted: bool| if encrypted { "encrypted" } else { "not encrypted" };
        differs.push(format!(
            "it is {}, cluster.yaml wants {}",
            word(found.encrypted),
            word(plan.network.encrypted)
        ));
    }
    if let Some(wanted) = &plan.network.subnet
        && !found.subnets.contains(wanted)
    {
        differs.push(format!("its subnet is {}, cluster.yaml wants {wanted}", found.subnets.join(", ")));
    }
    if differs.is_empty() {
        return Ok(keep(plan, found, Vec::new()));
    }
    Err(Problem::new(STEP, format!("the network {name} differs from cluster.yaml: {}", differs.join("; ")))
        .fix(fixes::recreate("Recreate it (Docker cannot change a network):")))
}

/// The network to be made, from the largest packets of the machines' interfaces in bytes.
pub fn wanted(plan: &ClusterPlan, underlays: &[u32]) -> Network {
    let encrypted = plan.network.encrypted;
    let mtu = plan.network.mtu.map(|mtu| option(mtu, encrypted)).or(underlays.iter().min().copied());
    Network {
        name: plan.network.name.clone(),
        mtu,
        encrypted,
        subnets: plan.network.subnet.iter().cloned().collect(),
        labels: [(LABEL.to_owned(), plan.name.clone())].into(),
        ..Network::default()
    }
}

/// Whether a subnet has addresses in common with an interface's: (address, length of its prefix).
pub fn overlaps(subnet: &str, interface: (IpAddr, u8)) -> bool {
    let Some((address, length)) = subnet.split_once('/') else { return false };
    let (Ok(address), Ok(length)) = (address.parse::<IpAddr>(), length.parse::<u8>()) else { return false };
    let (other, other_length) = interface;
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32_u8),
        IpAddr::V6(address) => (u128::from(address), 128_u8),
    };
    let ((a, width), (b, other_width)) = (bits(address), bits(other));
    if width != other_width {
        return false;
    }
    let kept = length.min(other_length).min(width);
    let shift = u32::from(width - kept);
    kept == 0 || a.checked_shr(shift) == b.checked_shr(shift)
}

/// [`overlaps`] of two subnets.
pub fn overlap(subnet: &str, other: &str) -> bool {
    let other = other
        .split_once('/')
        .and_then(|(address, length)| Some((address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?)));
    other.is_some_and(|other| overlaps(subnet, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlay_overhead_is_subtracted_from_the_mtu_once() {
        // Seen on Docker 20.10: an option of 1450 gave eth0 an MTU of 1400, none gave 1450.
        assert_eq!(container_mtu(1450, false), 1400);
        assert_eq!(container_mtu(DEFAULT_UNDERLAY_MTU, false), 1450);
        for (wanted, encrypted) in [(1400, false), (8950, false), (1424, true), (8920, true)] {
            assert_eq!(container_mtu(option(wanted, encrypted), encrypted), wanted);
        }
    }

    fn plan(network: &str) -> ClusterPlan {
        let text = format!(
            "name: abc\nimage: a\nnodes: [{{address: 10.0.0.1, gpus: 1}}, {{address: 10.0.0.2, gpus: \
                1}}]\nnetwork: {network}\n"
        );
        let request = crate::request::ClusterRequest::parse("x", &text).unwrap();
        crate::validate::validate(&request).unwrap()
    }

    fn observed(network: Option<Network>) -> [ObservedState; 2] {
        [ObservedState { network, ..ObservedState::default() }, ObservedState::default()]
    }

    #[test]
    fn reuses_only_own_network_with_matching_options() {
        let own = Network {
            driver: "overlay".into(),
            scope: "swarm".into(),
            attachable: true,
            mtu: Some(1450),
            labels: [(LABEL.to_owned(), "abc".to_owned())].into(),
            ..Network::default()
        };
        let asked = plan("{}");
        assert_eq!(decide(&asked, &observed(None)), Ok(Decision::Make));
        let keep = Decision::Keep { mtu: Some(1400), notes: Vec::new() };
        assert_eq!(decide(&asked, &observed(Some(own.clone()))), Ok(keep));
        let other = plan("{mtu: 1350}");
        let problem = decide(&other, &observed(Some(own.clone()))).unwrap_err();
        assert!(problem.message.contains("its MTU is 1400, cluster.yaml wants 1350"), "{}", problem.message);
        let foreign = Network { labels: Default::default(), ..own };
        let problem = decide(&asked, &observed(Some(foreign.clone()))).unwrap_err();
        assert!(problem.message.contains("does not belong to this cluster"), "{}", problem.message);
        let existing = plan("{kind: existing, name: theirs}");
        assert!(decide(&existing, &observed(Some(foreign.clone()))).is_ok());
        let bridge = Network { driver: "bridge".into(), scope: "local".into(), ..foreign };
        assert!(
            decide(&existing, &observed(Some(bridge)))
                .unwrap_err()
                .message
                .contains("exists on a single machine")
        );
    }

    #[test]
    fn subnets_that_overlap() {
        let interface = |text: &str, length| (text.parse().unwrap(), length);
        assert!(overlaps("10.0.18.0/24", interface("10.0.18.1", 24)));
        assert!(overlaps("10.0.0.0/8", interface("10.0.18.1", 24)));
        assert!(overlaps("10.0.18.128/25", interface("10.0.18.1", 24)));
        assert!(!overlaps("10.0.19.0/24", interface("10.0.18.1", 24)));
        assert!(!overlaps("10.0.19.0/24", interface("fd00::1", 64)));
        assert!(!overlaps("nonsense", interface("10.0.18.1", 24)));
        assert!(overlap("10.211.0.0/24", "10.211.0.0/16") && overlap("10.211.0.0/16", "10.211.7.0/24"));
        assert!(!overlap("10.211.0.0/24", "10.212.0.0/24") && !overlap("10.211.0.0/24", "default"));
    }
}
