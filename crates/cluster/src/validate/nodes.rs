//! The machines.

use std::net::IpAddr;

use super::faults::Faults;
use super::twice;
use super::value::{self, At};
use crate::plan::{Gpus, Node};
use crate::request::{ClusterRequest, GpuRequest, GpusRequest, NetworkKind, NodeRequest};
use diagnostic::error::Error;
use facts::docker::{Endpoint, Target};

/// More than this belongs to Kubernetes or Slurm: docs/clusters-at-scale.md.
const NODES_MAX: usize = 1024;

/// Settles all nodes; their environment follows later. Each node may have a fault of its own.
pub(super) fn validate(request: &ClusterRequest, at: &At, faults: &mut Faults) -> Option<Vec<Node>> {
    faults.note(count(request, at))?;
    let asked = request.nodes.iter().enumerate();
    let nodes: Vec<Option<Node>> = asked.map(|(index, asked)| faults.note(node(index, asked, at))).collect();
    let nodes: Vec<Node> = nodes.into_iter().collect::<Option<_>>()?;
    for (index, node) in nodes.iter().enumerate() {
        faults.note(differs(node, &nodes[..index], at))?;
    }
    faults.note(reachable(&nodes, request.network.kind.unwrap_or_default(), at))?;
    Some(nodes)
}

fn count(request: &ClusterRequest, at: &At) -> Result<(), Error> {
    if request.nodes.is_empty() {
        return Err(at.wrong(
            "no nodes",
            "write `nodes:` with an `address` each, or let `envdoc cluster init --nodes A,B` write the file",
        ));
    }
    if request.nodes.len() > NODES_MAX {
        return Err(at.wrong(
            format!("{} nodes", request.nodes.len()),
            format!("at most {NODES_MAX}; for larger clusters see docs/clusters-at-scale.md"),
        ));
    }
    Ok(())
}

/// An error where a node is the same as one before it.
fn differs(node: &Node, before: &[Node], at: &At) -> Result<(), Error> {
    if let Some(other) = before.iter().find(|other| other.name == node.name) {
        return Err(at.wrong(
            format!("nodes {} and {} have the same name, {}", other.index + 1, node.index + 1, node.name),
            "give each a unique name, or leave `name` out",
        ));
    }
    for other in before {
        if same_address(&other.address, &node.address) {
            let hint = "write one node per machine, with all of its GPUs and as many `slots`";
            return Err(twice(at, "address", &node.address, &other.name, &node.name, hint));
        }
        if other.engine == node.engine {
            let hint = "write one node per Docker engine; two containers on it would share its GPUs and its \
                        port";
            return Err(twice(at, "engine", node.engine.as_str(), &other.name, &node.name, hint));
        }
    }
    Ok(())
}

/// Whether the machines can reach each other by those addresses at all.
fn reachable(nodes: &[Node], kind: NetworkKind, at: &At) -> Result<(), Error> {
    for node in nodes {
        let at = at.key(&node.name).key("address");
        let number = node.address.parse::<IpAddr>().ok();
        let own =
            node.address == "localhost" || number.is_some_and(|ip| ip.is_loopback() || ip.is_unspecified());
        if own && nodes.len() > 1 {
            return Err(at.wrong(
                format!("{} is a loopback address", node.address),
                "write the address by which the other nodes reach it; list it with `ip -br addr` on that \
                    machine",
            ));
        }
        if kind == NetworkKind::Host && number.is_none() {
            return Err(at.wrong(
                format!("{} is a name, but `network: host` requires IP addresses", node.address),
                format!("write the address that `getent hosts {}` shows", node.address),
            ));
        }
    }
    Ok(())
}

fn same_address(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.eq_ignore_ascii_case(other),
    }
}

fn node(index: usize, asked: &NodeRequest, at: &At) -> Result<Node, Error> {
    let field = at.key(&format!("node {}", index + 1));
    let name = match &asked.name {
        Some(name) => field.key("name").fits(&value::NODE, name)?.to_owned(),
        None => format!("node{}", index + 1),
    };
    let at = at.key(&name);
    if asked.address.is_empty() {
        return Err(at.wrong(
            "no address",
            "write the address by which the other machines reach it: \
            `address: 10.0.18.1`",
        ));
    }
    at.key("address").fits(&value::ADDRESS, &asked.address)?;
    let engine = match &asked.engine {
        Some(engine) => at.key("engine").endpoint(engine)?,
        None => Endpoint::over_ssh(None, &asked.address),
    };
    if let Some(directory) = &asked.tls {
        at.key("tls").fits(&value::FILE, directory)?;
        if !matches!(engine.target(), Ok(Target::Tcp(_))) {
            return Err(at
                .key("tls")
                .wrong(format!("TLS certificates for {engine}"), "`tls` applies only to tcp:// engines"));
        }
    }
    let gpus = gpus(asked.gpus.as_ref(), &at.key("gpus"))?;
    for (name, text) in &asked.labels {
        let at = at.key("labels");
        at.fits(&value::LABEL, name)?;
        at.key(name).fits(&value::VALUE, text)?;
    }
    Ok(Node {
        index,
        slots: slots(asked.slots, &gpus, &at)?,
        address: asked.address.clone(),
        engine,
        tls: asked.tls.clone(),
        gpus,
        labels: asked.labels.clone(),
        environment: Default::default(),
        name,
    })
}

fn gpus(asked: Option<&GpusRequest>, at: &At) -> Result<Gpus, Error> {
    match asked {
        None => Ok(Gpus::All),
        Some(GpusRequest::Word(word)) if word == "all" => Ok(Gpus::All),
        Some(GpusRequest::Word(word)) => Err(at.wrong(
            format!("{word:?} is not `all`, a number or a list"),
            "write `all`, `4` for the first four, `0` for none, or `[0, 1]` or `[GPU-…]` for these",
        )),
        Some(GpusRequest::Count(0)) => Ok(Gpus::None),
        Some(GpusRequest::Count(count)) => Ok(Gpus::Count(*count)),
        Some(GpusRequest::These(list)) => {
            let mut these: Vec<String> = Vec::new();
            for one in list {
                let text = match one {
                    GpuRequest::Index(index) => index.to_string(),
                    GpuRequest::Uuid(uuid) => uuid.clone(),
                };
                at.fits(&value::GPU, &text)?;
                if these.contains(&text) {
                    return Err(at.wrong(format!("{text} is listed twice"), "name each GPU once"));
                }
                these.push(text);
            }
            if these.is_empty() {
                return Err(at.wrong("an empty list", "write `0` for none, or leave it out for all"));
            }
            Ok(Gpus::These(these))
        }
    }
}

/// Processes of a job on a node, as far as they are known.
fn slots(asked: Option<u32>, gpus: &Gpus, at: &At) -> Result<u32, Error> {
    let at = at.key("slots");
    let known = match gpus {
        Gpus::None => None,
        Gpus::All => None,
        Gpus::Count(count) => Some(*count),
        Gpus::These(list) => u32::try_from(list.len()).ok(),
    };
    match (asked, known) {
        (Some(0), _) => Err(at.wrong(
            "0 slots",
            "remove the node from `nodes` if no process of the job \
            runs on it",
        )),
        (Some(slots), Some(gpus)) if slots > gpus => Err(at.wrong(
            format!("{slots} slots on {gpus} GPUs"),
            "use one process per GPU; NCCL refuses two on one GPU",
        )),
        (Some(slots), _) => Ok(slots),
        (None, Some(gpus)) => Ok(gpus),
        (None, None) if *gpus == Gpus::None => Ok(1),
        (None, None) => Err(at.wrong(
            "`gpus: all` requires `slots`: the number of processes of a job on this node is unknown",
            "write `slots: 8` (the number of GPUs that `nvidia-smi -L` shows) or `gpus: 8`; `envdoc \
                cluster init` detects it",
        )),
    }
}
