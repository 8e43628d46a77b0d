//! The step `swarm`: all nodes in one.

mod swarm_label;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::{Work, on_all};
use crate::Error;
use crate::fixes;
use crate::join_marker;
use crate::observed_state;
use crate::plan::{LABEL, Node};
use crate::probe::Probe;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::swarm::{self, Action, Decision};
use crate::worker::Why;
use diagnostic::Fix;
use docker::Cause;
use docker::engine::Engine;
use docker::swarm::{self as engine_swarm, State, Token};
use swarm_label::Creator;

const STEP: Step = Step::Swarm;
/// The longest until a node that joins is ready; the engine's own attempt ends after about 30 s.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);
/// How often is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long a node's engine may be silent while it joins: one that is started again is back by then.
const ENGINE_SILENCE_LIMIT: Duration = Duration::from_secs(8);
/// Where a manager is asked to be joined.
const MANAGER_PORT: u16 = 2377;

pub(super) async fn one_swarm(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let observed = work.look().await?;
    let former = observed_state::former(work.plan, &observed);
    let decision = swarm::decide(&observed, &work.members(&observed).await?, &former)?;
    for note in &decision.notes {
        work.note(note.clone());
    }
    let (leader, manager) = work.leader()?;
    if decision.actions.first() == Some(&Action::Init) {
        start(work, leader, manager).await.map_err(|problem| vec![problem])?;
    } else if let Some(note) = Creator::of(manager).await.of_used(&leader.name) {
        work.note(note);
    }
    let token = engine_swarm::token(manager).await;
    let token = token.map_err(|why| {
        vec![Problem::of(STEP, &leader.name, format!("the swarm manager rejects joins: {why}"))]
    })?;
    let nodes: Vec<_> = work.nodes.iter().copied().zip(&decision.actions).collect();
    on_all(work.nodes.iter().copied(), |node, engine| {
        let action = nodes
            .iter()
            .find(|((other, _), _)| other.name == node.name)
            .map_or(Action::None, |(_, action)| **action);
        let token = &token;
        async move {
            match action {
                Action::Init => Ok(()),
                Action::None => still(work, node, engine, manager).await,
                _ => join(work, node, engine, action, token).await,
            }
        }
    })
    .await?;
    forget(work, manager, &decision).await;
    Ok(())
}

async fn start(work: &Work<'_>, leader: &Node, manager: &Engine) -> Result<(), Problem> {
    work.progress.doing(STEP, &leader.name, "starting a swarm");
    let address = super::ip(leader).await?;
    let labels = BTreeMap::from([(LABEL.to_owned(), work.plan.name.clone())]);
    match engine_swarm::init(manager, &address, &labels).await {
        Ok(()) => {
            // `down --leave-swarm` leaves only swarms that have it.
            if let Some(note) = Creator::of(manager).await.of_started(&leader.name) {
                work.note(note);
            }
            work.done(
                STEP,
                &leader.name,
                format!("started a swarm, manager at {}:{MANAGER_PORT}", leader.address),
                Outcome::Changed,
            );
            Ok(())
        }
        Err(why) => {
            work.done(STEP, &leader.name, "no swarm", Outcome::Failed);
            Err(unmade(leader, &why.into()))
        }
    }
}

fn unmade(node: &Node, why: &Error) -> Problem {
    let address = &node.address;
    if why.cause() == Cause::AddressUnresolved {
        return Problem::of(STEP, &node.name, format!("cannot resolve {address} on {}: {why}", node.name))
            .fix(fixes::name_resolution("that node"));
    }
    if why.cause() == Cause::AddressNotLocal {
        return Problem::of(STEP, &node.name, format!("{address} is not an address of {}: {why}", node.name))
            .fix(fixes::addresses());
    }
    if why.cause() == Cause::AddressInUse {
        return Problem::of(
            STEP,
            &node.name,
            format!("a swarm port (2377/tcp, 7946/tcp, 7946/udp) is already in use on {}: {why}", node.name),
        )
        .fix(Fix::run(
            "Find the process that uses it, on that node:",
            "ss -lntup | grep -E ':(2377|7946) '",
        ));
    }
    Problem::of(STEP, &node.name, format!("cannot start a swarm: {why}")).closed(why.is_closed())
}

/// A node that is in: whether the manager hears from it.
async fn still(work: &Work<'_>, node: &Node, engine: &Engine, manager: &Engine) -> Result<(), Problem> {
    if let Some(problem) = moved(work, node, engine).await {
        work.done(STEP, &node.name, "in the swarm with an old address", Outcome::Failed);
        return Err(problem);
    }
    ready(work, node, engine, manager).await?;
    work.done(STEP, &node.name, "in the swarm, ready", Outcome::Unchanged);
    Ok(())
}

/// A node whose machine has another address than when it joined: the others send to the old one.
async fn moved(work: &Work<'_>, node: &Node, engine: &Engine) -> Option<Problem> {
    let machine = engine_swarm::machine(engine).await.ok()?;
    let joined = machine.swarm.address.parse::<IpAddr>().ok()?;
    // A second network of the machine is well; so it is looked at only where the two differ.
    if super::ip(node).await.ok()?.parse() == Ok(joined) {
        return None;
    }
    let probe = Probe::start(work.plan, node, engine, "host", work.bundle().ok()?).await.ok()?;
    let interfaces = probe.interfaces().await;
    probe.end().await;
    let own = interfaces.ok()?.into_iter().filter(|one| !one.loopback).flat_map(|one| one.addresses);
    let own: Vec<IpAddr> = own.map(|(address, _)| address).collect();
    let leader = work.nodes.first().map(|(leader, _)| leader.name.as_str());
    let leader = leader.filter(|leader| *leader != node.name);
    swarm::moved(STEP, (node, &machine.hostname), joined, &own, leader)
}

async fn join(
    work: &Work<'_>,
    node: &Node,
    engine: &Engine,
    action: Action,
    token: &Token,
) -> Result<(), Problem> {
    let Some((leader, manager)) = work.nodes.first().copied() else { return Ok(()) };
    work.progress.doing(STEP, &node.name, &format!("joining {}", leader.name));
    let failed = |problem: Problem| {
        work.done(STEP, &node.name, "not in the swarm", Outcome::Failed);
        problem
    };
    if action == Action::Again {
        let left = engine_swarm::leave(engine, true).await;
        left.map_err(|why| {
            let problem =
                Problem::of(STEP, &node.name, format!("cannot clear the failed join attempt: {why}"));
            failed(problem.closed(why.is_closed()))
        })?;
    }
    if action != Action::Wait {
        let remote = with_port(&super::ip(leader).await?, MANAGER_PORT);
        let own = super::ip(node).await?;
        let marker = join_marker::set(work.plan, engine).await;
        marker
            .map_err(|why| failed(Problem::of(STEP, &node.name, why.to_string()).closed(why.is_closed())))?;
        if let Err(why) = engine_swarm::join(engine, &own, &remote, token).await {
            return Err(failed(refused(work, node, engine, &why.into()).await));
        }
    }
    ready(work, node, engine, manager).await.map_err(failed)?;
    join_marker::remove(work.plan, engine).await;
    work.done(STEP, &node.name, format!("joined the swarm of {}", leader.name), Outcome::Changed);
    Ok(())
}

/// `10.0.18.1:2377`, `[fd00::1]:2377`.
fn with_port(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// Waits until a node says that it is in, and the manager that it is ready.
async fn ready(work: &Work<'_>, node: &Node, engine: &Engine, manager: &Engine) -> Result<(), Problem> {
    let started = Instant::now();
    let mut last = Error::Other(String::new());
    let mut silent: Option<Instant> = None;
    while started.elapsed() < JOIN_TIMEOUT {
        let machine = engine_swarm::machine(engine).await;
        let since = silent.take();
        match machine {
            Ok(machine) if machine.swarm.state == State::Active => {
                let members = engine_swarm::members(manager).await;
                let member =
                    members.map(|all| all.into_iter().find(|member| member.id == machine.swarm.node));
                match member {
                    Ok(Some(member)) if member.ready => return Ok(()),
                    Ok(Some(member)) => last = Error::Member(member.status),
                    Ok(None) => last = Error::Other("the manager does not know the node yet".into()),
                    Err(why) => last = why.into(),
                }
            }
            Ok(machine) if machine.swarm.state == State::Error => {
                let why = Error::Swarm(machine.swarm.error);
                return Err(refused(work, node, engine, &why).await);
            }
            Ok(machine) => {
                last = Error::Other(format!("engine state: {:?}", machine.swarm.state).to_lowercase())
            }
            Err(why) => {
                let since = since.unwrap_or_else(Instant::now);
                if since.elapsed() > ENGINE_SILENCE_LIMIT {
                    return Err(Problem::of(
                        STEP,
                        &node.name,
                        format!("the Docker engine on {} stopped responding: {why}", node.name),
                    )
                    .fix(Fix::run("Check the engine on that node:", "systemctl status docker"))
                    .fix(fixes::resume()));
                }
                silent = Some(since);
                last = why.into();
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let why = Error::NotReady { after: JOIN_TIMEOUT, last: Box::new(last) };
    Err(refused(work, node, engine, &why).await)
}

/// Why a node did not get in: what can be seen from there of the manager's ports decides.
async fn refused(work: &Work<'_>, node: &Node, engine: &Engine, why: &Error) -> Problem {
    let Some((leader, _)) = work.nodes.first().copied() else {
        return Problem::of(STEP, &node.name, why.to_string());
    };
    if why.cause() == Cause::Certificate {
        return Problem::of(
            STEP,
            &node.name,
            format!("the swarm certificate is not valid on {}: {why}", node.name),
        )
        .fix(Fix::run("Compare the clocks on both nodes:", "date -u"));
    }
    if why.cause() == Cause::AddressInUse {
        return unmade(node, why);
    }
    let tried = match work.bundle() {
        Ok(bundle) => Probe::start(work.plan, node, engine, "host", bundle).await,
        Err(problem) => Err(Error::Other(problem.message)),
    };
    let Ok(probe) = tried else { return unseen(node, leader, why) };
    let manager = probe.connects(&leader.address, MANAGER_PORT).await;
    let gossip = probe.connects(&leader.address, 7946).await;
    probe.end().await;
    match (manager, gossip) {
        (Err(failure), gossip) => {
            let (node_name, leader_name, address) = (&node.name, &leader.name, &leader.address);
            let message = match failure.why {
                Why::TimedOut => {
                    format!(
                        "{address}:{MANAGER_PORT}/tcp of {leader_name} is blocked: {node_name} gets no answer"
                    )
                }
                Why::Refused => format!(
                    "{address}:{MANAGER_PORT}/tcp of {leader_name} refuses {node_name}: a firewall rejects \
                        it, or the manager does not listen"
                ),
                Why::UnknownName => {
                    format!("{node_name} cannot resolve {address}, the address of {leader_name}")
                }
                _ => {
                    format!(
                        "{node_name} cannot reach {address}:{MANAGER_PORT}/tcp of {leader_name}: {failure}"
                    )
                }
            };
            let both = if gossip.is_err() && failure.why != Why::UnknownName {
                "; 7946/tcp is unreachable too"
            } else {
                ""
            };
            let problem =
                Problem::of(STEP, node_name, format!("{message}{both}. It cannot join the swarm ({why})"))
                    .closed(why.is_closed());
            match failure.why {
                Why::UnknownName => problem.fix(Fix::manual(
                    "Write the IP address in cluster.yaml, or add the name to /etc/hosts on every node",
                )),
                _ => problem
                    .fix(fixes::open_ports(
                        "2377/tcp, 7946/tcp, 7946/udp and 4789/udp between the nodes",
                        leader_name,
                    ))
                    .fix(fixes::resume()),
            }
        }
        (Ok(()), _) => Problem::of(
            STEP,
            &node.name,
            format!(
                "{} failed to join the swarm although it reaches {}:{MANAGER_PORT}/tcp of {}: {why}",
                node.name, leader.address, leader.name
            ),
        )
        .closed(why.is_closed())
        .fix(Fix::run("Read its engine's log:", "journalctl -u docker"))
        .fix(fixes::resume()),
    }
}

/// The way could not be looked at from there.
fn unseen(node: &Node, leader: &Node, why: &Error) -> Problem {
    let (from, to) = (&node.name, &leader.address);
    Problem::of(STEP, from, format!("{from} failed to join the swarm: {why}"))
        .closed(why.is_closed())
        .fix(Fix::run(
            format!("Check from {from} that {to}:2377/tcp, 7946/tcp and 7946/udp are reachable:"),
            format!("nc -vz {to} 2377"),
        ))
        .fix(fixes::resume())
}

/// Earlier lives of our nodes are taken off the manager's list, in a swarm that envdoc created.
async fn forget(work: &Work<'_>, manager: &Engine, decision: &Decision) {
    if decision.stale.is_empty() {
        return;
    }
    if let Some(note) = Creator::of(manager).await.keeps_stale() {
        work.note(note);
        return;
    }
    for member in &decision.stale {
        if let Err(why) = engine_swarm::remove_member(manager, member, false).await {
            work.note(format!("cannot remove a stale member from the manager's list: {why}"));
        }
    }
}
