//! `envdoc cluster check`: every node of a plan looked at, and what lies between them tried.

mod bootstrap;
mod member;
mod notice;
mod probe;

use catalog::Catalog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

use self::bootstrap::{Envdoc, Packing, Program};
use self::notice::Left;
use super::bootstrap::{Parcel, deploy_worker};
use super::nodes::{Limits, Location, Node, Worker, side_by_side};
use super::plan::{ClusterPlan, Source};
use super::request::NetworkKind;
use diagnostic::Fix;
use diagnostic::error::Error;
use docker::transport::ConnectCause;
use facts::fleet::{Fleet, Member, Port};
use judge::{CheckResult, Checks};

pub use self::notice::{Missing, Notice, Phase};

/// How it is done.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What the facts are compared with.
    pub catalog: &'static Catalog,
    /// What each machine is checked for.
    pub checks: Checks,
    /// How many at once, and how long reaching one machine may take.
    pub limits: Limits,
    /// How long envdoc may look at one machine.
    pub look: Duration,
    /// How long reading the paths that must be the same may take.
    pub content: Duration,
}

#[derive(Debug)]
pub struct Inspection {
    /// The machines and what lies between them.
    pub fleet: Fleet,
    /// The server checks of each, in the order of the plan.
    pub nodes: Vec<NodeResults>,
    pub notes: Vec<String>,
}

/// How far envdoc got with a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It was inspected.
    Inspected,
    /// There is a connection, but only to its engine, or there is no envdoc on the machine.
    NotInspected,
    /// There is no connection.
    Unreachable,
    /// It was recorded, and the recording cannot be read.
    Unreadable,
}

/// What the server checks say of a node.
#[derive(Debug)]
pub struct NodeResults {
    /// The name of the node in cluster.yaml.
    pub name: String,
    /// Its engine's endpoint.
    pub engine: String,
    pub access: Access,
    /// Why the machine itself was not looked at, if it was not.
    pub closed: Option<String>,
    pub fixes: Vec<Fix>,
    /// The kind of reason for which there is no connection, where it is a known one.
    pub cause: Option<ConnectCause>,
    pub results: Vec<CheckResult>,
    /// How long reaching it and looking took.
    pub seconds: f64,
}

impl Inspection {
    /// Whether some machine could not be reached or read, or none could be inspected: then no finding proves
    /// nothing.
    pub fn incomplete(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.access, Access::Unreachable | Access::Unreadable))
            || self.nodes.iter().all(|node| node.access != Access::Inspected)
    }
}

/// Looks at all of it. `consent` is asked before anything is copied to a machine.
pub async fn look(
    plan: &ClusterPlan,
    options: Options,
    consent: impl Fn(&Missing) -> bool,
    notice: impl Fn(Notice<'_>),
) -> Result<Inspection, Error> {
    let (nodes, mut programs) = reached(plan, options, true, consent, &notice).await?;
    let width = options.limits.width;
    let workers: Vec<_> = programs
        .iter_mut()
        .map(|program| match program {
            Ok(program) => Ok((program.worker.take(), program.command.clone())),
            Err(why) => Err(why.clone()),
        })
        .collect();
    let left = Left::of(Phase::Read, plan, &notice);
    let members = side_by_side(nodes.iter().zip(&programs), width, |(node, program)| {
        left.until(&node.name, member::look(node, program.as_ref(), plan.image_name(), options))
    });
    // Where envdoc was brought just now, its worker has not been started yet.
    let workers = side_by_side(nodes.iter().zip(workers), width, |(node, program)| async move {
        match program? {
            (Some(worker), _) => worker,
            (None, command) => node.worker(&command, options.limits.each).await,
        }
    });
    let (mut members, workers): (Vec<_>, Vec<Result<Worker, crate::Error>>) = tokio::join!(members, workers);
    let paths = same_content(plan);
    let ports = ports(plan);
    let addresses: Vec<String> = members.iter().map(|gathered| gathered.member.address.clone()).collect();
    notice(Notice::Begins(Phase::Network, plan.nodes.len()));
    let mut known: Vec<&mut Member> = members.iter_mut().map(|gathered| &mut gathered.member).collect();
    let (pairs, ()) = tokio::join!(
        probe::between(&addresses, &workers, &ports, width),
        probe::of_each(&workers, &mut known, &paths, options.content)
    );
    let mut notes = Vec::new();
    let every = plan.nodes.len() * plan.nodes.len().saturating_sub(1);
    if pairs.len() < every {
        notes.push(format!(
            "{} of {every} connections between the nodes were tested: neighbours and the first node",
            pairs.len()
        ));
    }
    let results = nodes.iter().zip(&members).zip(&programs);
    let results =
        results.map(|((node, gathered), program)| result(node, gathered, program, options.checks)).collect();
    Ok(Inspection {
        fleet: Fleet {
            members: members.into_iter().map(|gathered| gathered.member).collect(),
            pairs,
            not_tried: None,
            same_content: paths,
            image: Some(plan.image_name().to_owned()),
        },
        nodes: results,
        notes,
    })
}

/// Looks at the machines alone, and at nothing that lies between them.
pub async fn machines(
    plan: &ClusterPlan,
    options: Options,
    consent: impl Fn(&Missing) -> bool,
    notice: impl Fn(Notice<'_>),
) -> Result<Vec<(NodeResults, Member)>, Error> {
    let (nodes, programs) = reached(plan, options, false, consent, &notice).await?;
    let pairs = nodes.iter().zip(&programs);
    let left = &Left::of(Phase::Read, plan, &notice);
    let gathered = side_by_side(pairs, options.limits.width, |(node, program)| async move {
        let look = member::look(node, program.as_ref(), plan.image_name(), options);
        let gathered = left.until(&node.name, look).await;
        (result(node, &gathered, program, options.checks), gathered.member)
    });
    Ok(gathered.await)
}

/// The ways to the machines, and envdoc there; with `worker`, its worker too, but where it had to be brought.
async fn reached(
    plan: &ClusterPlan,
    options: Options,
    worker: bool,
    consent: impl Fn(&Missing) -> bool,
    notice: &impl Fn(Notice<'_>),
) -> Result<(Vec<Node>, Vec<Result<Program, crate::Error>>), Error> {
    let packing = Packing::default();
    let left = Left::of(Phase::Connect, plan, notice);
    let arrived = side_by_side(&plan.nodes, options.limits.width, |node| {
        left.until(&node.name, bootstrap::reach_node(node, &packing, options, worker))
    });
    let (nodes, found): (Vec<_>, Vec<_>) = arrived.await.into_iter().unzip();
    let consent = |missing: &Missing| {
        let agreed = consent(missing);
        if agreed {
            notice(Notice::Begins(Phase::Copy, missing.nodes.len()));
        }
        agreed
    };
    let programs = programs(&nodes, found, packing.done()?.as_ref(), options, consent).await;
    Ok((nodes, programs))
}

fn result(
    node: &Node,
    gathered: &member::Gathered,
    program: &Result<Program, crate::Error>,
    checks: Checks,
) -> NodeResults {
    let blocked = match node.location() {
        Location::Blocked(blocked) => Some(blocked),
        _ => None,
    };
    NodeResults {
        name: node.name.clone(),
        engine: node.engine.to_string(),
        access: match (node.location(), program) {
            (Location::EngineOnly, _) => Access::NotInspected,
            (Location::Blocked(_), _) | (_, Err(crate::Error::Connection(_))) => Access::Unreachable,
            (_, Err(_)) => Access::NotInspected,
            (Location::Here | Location::There(_), Ok(_)) => Access::Inspected,
        },
        closed: node.closed().or_else(|| program.as_ref().err().map(ToString::to_string)),
        fixes: blocked.map(|blocked| blocked.fixes.clone()).unwrap_or_default(),
        cause: blocked.and_then(|blocked| blocked.cause),
        results: judge::judge(checks, &gathered.member.facts),
        seconds: (node.took + gathered.took).as_secs_f64(),
    }
}

/// How envdoc is started on each machine, or why it is not there. Where it is missing, it is brought, with
/// consent.
async fn programs(
    nodes: &[Node],
    found: Vec<Result<Envdoc, crate::Error>>,
    parcel: Option<&Parcel>,
    options: Options,
    consent: impl Fn(&Missing) -> bool,
) -> Vec<Result<Program, crate::Error>> {
    let missing: Vec<String> = nodes
        .iter()
        .zip(&found)
        .filter(|(_, found)| matches!(found, Ok(Envdoc::Missing { .. })))
        .map(|(node, _)| node.name.clone())
        .collect();
    let bytes = parcel.map_or(0, Parcel::bytes);
    let agreed = !missing.is_empty() && consent(&Missing { nodes: missing, bytes });
    side_by_side(nodes.iter().zip(found), options.limits.width, |(node, found)| async move {
        let (architecture, other) = match found? {
            Envdoc::Runs(program) => return Ok(*program),
            Envdoc::Missing { architecture, other } => (architecture, other),
        };
        match (node.location(), parcel) {
            (Location::There(connection), Some(parcel)) if agreed => {
                // Copying takes longer than asking.
                let deadline = Instant::now() + options.limits.each * 6;
                deploy_worker(connection, parcel, &architecture, deadline)
                    .await
                    .map(|command| Program { command, snapshot: None, worker: None })
                    .map_err(|why| {
                        crate::Error::Other(format!("envdoc could not be copied to {}: {why}", node.name))
                    })
            }
            _ => Err(crate::Error::Other(match other {
                Some(version) => format!(
                    "{} has envdoc {version}, this is {}; copy this version there with --bring",
                    node.name,
                    env!("CARGO_PKG_VERSION")
                ),
                None => format!("envdoc is not installed on {}; copy it there with --bring", node.name),
            })),
        }
    })
    .await
}

/// Paths that must hold the same on every machine.
fn same_content(plan: &ClusterPlan) -> Vec<String> {
    let path = |mount: &super::plan::Mount| match &mount.from {
        Source::Path(path) if mount.same_content => Some(path.clone()),
        _ => None,
    };
    plan.mounts.iter().filter_map(path).collect()
}

/// The ports that the plan needs; the first node's alone where `first`.
fn ports(plan: &ClusterPlan) -> Vec<(Port, bool)> {
    let port = |number, udp, purpose, first| (Port { number, udp, purpose }, first);
    match plan.network.kind {
        NetworkKind::Host => {
            let ssh =
                plan.ssh.as_ref().map(|ssh| port(ssh.port, false, "SSH server of the containers", false));
            ssh.into_iter().chain([port(plan.rendezvous_port, false, "rendezvous", true)]).collect()
        }
        NetworkKind::Overlay | NetworkKind::Existing => vec![
            port(2377, false, "joining the swarm", true),
            port(7946, false, "members of the swarm find each other", false),
            port(7946, true, "members of the swarm find each other", false),
            port(4789, true, "the containers' traffic, VXLAN", false),
        ],
    }
}
