//! The step `network`: there, seen by every node, and which interface of a container belongs to it.

use std::net::IpAddr;

use super::{Work, on_all};
use crate::Error;
use crate::fixes;
use crate::network::{self, Decision};
use crate::plan::Node;
use crate::probe::{self, Probe};
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::request::NetworkKind;
use crate::validate::fits_two_each;
use crate::worker::{Answer, Interface, Task};
use diagnostic::Fix;
use docker::engine::Engine;
use docker::{Cause, container, network as engine_network};

const STEP: Step = Step::Network;

/// Creates the network if it is missing, and attaches a probe container on nodes without a container.
pub(super) async fn ready(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let observed = work.look().await?;
    match network::decide(work.plan, &observed).map_err(|problem| vec![problem])? {
        Decision::None => {}
        Decision::Keep { mtu, notes } => {
            let mtu = mtu.map_or(String::new(), |mtu| format!(", MTU {mtu}"));
            work.done(
                STEP,
                &work.plan.name,
                format!("{} exists{mtu}", work.plan.network.name),
                Outcome::Unchanged,
            );
            notes.into_iter().for_each(|note| work.note(note));
        }
        Decision::Make => make(work).await?,
    }
    if work.plan.network.kind == NetworkKind::Host {
        return Ok(());
    }
    let attached = |name: &str| {
        let found = observed.iter().find(|node| node.name == name).and_then(|node| node.container.as_ref());
        found.is_some_and(|found| found.running && found.addresses.contains_key(&work.plan.network.name))
    };
    let bare = work.nodes.iter().copied().filter(|(node, _)| !attached(&node.name));
    on_all(bare, |node, engine| visible(work, node, engine)).await.map(drop)
}

async fn make(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let (leader, manager) = work.leader()?;
    let all = on_all(work.nodes.iter().copied(), |node, engine| async move {
        work.progress.doing(STEP, &node.name, "reading its interfaces");
        let result = interfaces(work, node, engine, "host").await;
        if result.is_err() {
            work.done(STEP, &node.name, "could not read its interfaces", Outcome::Failed);
        }
        result.map(|(interfaces, routes)| (node, interfaces, routes))
    })
    .await?;
    let mut underlays = Vec::new();
    for (node, interfaces, routes) in &all {
        let own = own(node, interfaces);
        if let Some(mtu) = own.and_then(|interface| interface.mtu) {
            underlays.push(mtu);
        }
        if let Some(subnet) = &work.plan.network.subnet
            && let Some(taken) = taken(subnet, interfaces)
        {
            return Err(vec![overlap(node, subnet, &taken)]);
        }
        if let Some(subnet) = &work.plan.network.subnet
            && let Some((network, interface)) = routed(subnet, routes)
        {
            return Err(vec![
                overlap(node, subnet, &format!("its route to {network} through {interface}")).fix(Fix::run(
                    format!("Show the route, on {}:", node.name),
                    format!("ip route get {}", network.split('/').next().unwrap_or(network)),
                )),
            ]);
        }
    }
    let wanted = network::wanted(work.plan, &underlays);
    engine_network::create(manager, &wanted).await.map_err(|why| vec![unmade(work, leader, &why.into())])?;
    let found = engine_network::inspect(manager, &wanted.name).await.ok().flatten().unwrap_or_default();
    // The engine may choose the addresses only when the first container comes.
    let mut traits = found.subnets;
    traits.extend(
        wanted.mtu.map(|mtu| format!("MTU {} of {mtu}", network::container_mtu(mtu, wanted.encrypted))),
    );
    traits.extend(wanted.encrypted.then(|| "encrypted".to_owned()));
    let message = format!("created the overlay {} ({})", wanted.name, traits.join(", "));
    for (node, _, _) in &all {
        work.progress.done(STEP, &node.name, "read its interfaces", Outcome::Unchanged);
    }
    work.done(STEP, &work.plan.name, message, Outcome::Changed);
    if wanted.encrypted {
        work.note(
            "the overlay is encrypted (IPsec): the CPU encrypts every packet, which costs much of a \
            fast link's bandwidth; remove `encrypted` if the network between the nodes is private",
        );
    }
    Ok(())
}

/// The interface of a machine by which the others reach it.
fn own<'i>(node: &Node, interfaces: &'i [Interface]) -> Option<&'i Interface> {
    node.address.parse::<IpAddr>().ok().and_then(|address| probe::with_address(interfaces, address))
}

fn taken(subnet: &str, interfaces: &[Interface]) -> Option<String> {
    let mut addresses = interfaces
        .iter()
        .flat_map(|interface| interface.addresses.iter().map(move |pair| (interface, *pair)));
    let (interface, (address, length)) = addresses.find(|(_, pair)| network::overlaps(subnet, *pair))?;
    Some(format!("{address}/{length} of {}", interface.name))
}

/// A route of a machine to a network that has addresses in common with the subnet.
fn routed<'r>(subnet: &str, routes: &'r [(String, String)]) -> Option<(&'r str, &'r str)> {
    let found = routes.iter().find(|(network, _)| network::overlap(subnet, network))?;
    Some((&found.0, &found.1))
}

fn overlap(node: &Node, subnet: &str, taken: &str) -> Problem {
    Problem::of(
        STEP,
        &node.name,
        format!(
            "the subnet {subnet} overlaps a network that {} already uses: {taken}; packets for it would go \
                into the overlay, or the overlay's packets there",
            node.name
        ),
    )
    .fix(Fix::manual(
        "Choose a different subnet in cluster.yaml, or leave it out so that Docker chooses a free \
            one: `network: { subnet: 10.211.0.0/24 }`",
    ))
}

fn unmade(work: &Work<'_>, leader: &Node, why: &Error) -> Problem {
    let network = &work.plan.network;
    if let Some(subnet) = network.subnet.as_ref().filter(|_| why.cause() == Cause::SubnetOverlap) {
        return Problem::of(
            STEP,
            &leader.name,
            format!(
                "the subnet {subnet} overlaps another network of \
                    the swarm: {why}"
            ),
        )
        .fix(Fix::run(
            "List the networks on that node:",
            "docker network inspect $(docker network ls -q) --format '{{.Name}} {{range \
                .IPAM.Config}}{{.Subnet}}{{end}}'",
        ))
        .fix(Fix::manual("Choose a different subnet in cluster.yaml, or leave it out"));
    }
    Problem::of(STEP, &leader.name, format!("cannot create the overlay {}: {why}", network.name))
        .closed(why.is_closed())
}

/// Networks with the interface that packets to them leave by.
type Routes = Vec<(String, String)>;

/// The interfaces and routes that a container in a network sees: the machine's own with `host`.
async fn interfaces(
    work: &Work<'_>,
    node: &Node,
    engine: &Engine,
    network: &str,
) -> Result<(Vec<Interface>, Routes), Problem> {
    let bundle = work.bundle()?;
    let probe = Probe::start(work.plan, node, engine, network, bundle).await;
    let probe = probe.map_err(|why| unlooked(work, node, network, &why))?;
    let (found, routes) = tokio::join!(probe.interfaces(), probe.ask(Task::Routes, probe::CONNECT_TIMEOUT));
    probe.end().await;
    let routes = match routes {
        Ok(Answer::Routes { networks }) => networks,
        _ => {
            work.note(format!("the routes of {} could not be read", node.name));
            Vec::new()
        }
    };
    found.map(|found| (found, routes)).map_err(|failure| unlooked(work, node, network, &failure.into()))
}

fn unlooked(work: &Work<'_>, node: &Node, network: &str, why: &Error) -> Problem {
    if let Some(subnet) = work.plan.network.subnet.as_ref().filter(|_| why.cause() == Cause::SubnetOverlap) {
        return overlap(node, subnet, &why.to_string());
    }
    if why.cause() == Cause::DiskFull {
        return Problem::of(STEP, &node.name, format!("the disk of {} is full: {why}", node.name))
            .fix(fixes::free_disk());
    }
    if network != "host" && why.cause() == Cause::NetworkNotAttached {
        return Problem::of(
            STEP,
            &node.name,
            format!("{} cannot use the network {network}: {why}", node.name),
        )
        .fix(Fix::run(
            "Check that 2377/tcp, 7946/tcp and 7946/udp are open between the nodes:",
            "envdoc cluster check",
        ))
        .fix(fixes::resume());
    }
    Problem::of(
        STEP,
        &node.name,
        format!("cannot run envdoc's worker in a container on {}: {why}", node.name),
    )
    .closed(why.is_closed())
}

/// Attaches a first container, which makes an overlay visible on a worker, and looks which of its interfaces
/// has the address there.
async fn visible<'a>(work: &Work<'a>, node: &Node, engine: &'a Engine) -> Result<(), Problem> {
    let network = &work.plan.network.name;
    let failed = |problem: Problem| {
        work.done(STEP, &node.name, "worker failed in the container", Outcome::Failed);
        problem
    };
    let bundle = work.bundle().map_err(failed)?;
    work.progress.doing(STEP, &node.name, "attaching a probe container");
    let probe = Probe::start(work.plan, node, engine, network, bundle).await;
    let probe = probe.map_err(|why| failed(unlooked(work, node, network, &why)))?;
    let found = probe.interfaces().await;
    let attached = container::inspect(engine, &probe::name(work.plan, node)).await;
    let subnet = work.plan.network.subnet.as_ref();
    if subnet.is_none_or(|subnet| fits_two_each(subnet, work.plan.nodes.len())) {
        // A node that leaves the network and enters it again at once may stay unknown to the other engines
        // (Docker 20.10, seen twice in lab runs under load), so it stays until its own container is there.
        work.attached.borrow_mut().push(probe);
    } else {
        probe.end().await;
    }
    let all = found.map_err(|failure| failed(unlooked(work, node, network, &failure.into())))?;
    let address =
        attached.ok().flatten().and_then(|found| found.addresses.get(network)?.parse::<IpAddr>().ok());
    let Some(interface) = address.and_then(|address| probe::with_address(&all, address)) else {
        let message = format!("no interface of the container on {} has its address in {network}", node.name);
        return Err(failed(Problem::of(STEP, &node.name, message)));
    };
    work.done(STEP, &node.name, message(network, interface, &all), Outcome::Unchanged);
    Ok(())
}

/// Which of the interfaces of a container is that of the network.
fn message(network: &str, interface: &Interface, all: &[Interface]) -> String {
    let others = all.iter().filter(|other| !other.loopback && other.name != interface.name);
    let others: Vec<_> = others.map(|other| other.name.as_str()).collect();
    let not = match others.is_empty() {
        true => String::new(),
        false => format!(" (not in this network: {})", others.join(", ")),
    };
    let mtu = interface.mtu.map_or(String::new(), |mtu| format!(", MTU {mtu}"));
    format!("{network} is {} in a container{mtu}{not}", interface.name)
}
