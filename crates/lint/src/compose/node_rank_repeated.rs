//! Two nodes of one job with the same rank, or a rank that does not exist.

use std::collections::BTreeMap;

use crate::programs;
use crate::read::compose::{Compose, IsStack, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "node-rank-repeated",
    severity: Severity::Error,
    summary: "the nodes of a job have different ranks from 0 on",
    explain: include_str!("node_rank_repeated.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 \
                --master_addr=a t.py\n  c:\n    \
             image: b\n    command: torchrun --nnodes=2 --node_rank=0 --master_addr=a t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    environment: {WORLD_SIZE: 2, RANK: 0, MASTER_ADDR: a}\n\
                \x20 c:\n    image: \
             b\n    environment: {WORLD_SIZE: 2, RANK: 0, MASTER_ADDR: a}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=2 \
                --master_addr=a t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    environment: {WORLD_SIZE: 2, RANK: 0, MASTER_ADDR: a}\n\
             \x20 c:\n    image: b\n    environment: {RANK: 1}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    environment: {WORLD_SIZE: 4, RANK: 0, MASTER_ADDR: a}\n\
             \x20 c:\n    image: b\n    environment: {WORLD_SIZE: 4, RANK: 1, MASTER_ADDR: a}\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    environment: {WORLD_SIZE: 2, RANK: 0, MASTER_ADDR: a}\n\
             \x20 c:\n    image: b\n    env_file: job.env\n    environment: {RANK: 1}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 \
                --master_addr=a t.py\n  c:\n    \
             image: b\n    command: torchrun --nnodes=2 --node_rank=1 --master_addr=a t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 \
                --master_addr=a t.py\n  c:\n    \
             image: b\n    command: torchrun --nnodes=2 --node_rank=0 --master_addr=d t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 \
                --rdzv_backend=c10d --rdzv_endpoint=a t.py\n  c:\n    image: b\n    command: torchrun \
                --nnodes=2 --node_rank=0 --rdzv_backend=c10d --rdzv_endpoint=a t.py\n",
        ),
    ],
};

/// A node of a job.
#[derive(Debug)]
struct Node<'s> {
    service: &'s Service,
    key: &'static str,
    /// What the rank is called: `--node_rank`, `RANK`.
    name: String,
    rank: u64,
    size: Option<u64>,
    /// Where the first node is: nodes with the same one are of one job.
    master: String,
}

fn judge(file: &Compose) -> Vec<Found> {
    let nodes: Vec<Node> = file.services.iter().flat_map(nodes).collect();
    let mut first: BTreeMap<(String, String, u64), &Node> = BTreeMap::new();
    let mut found = Vec::new();
    for node in &nodes {
        let own = &node.service.name;
        if let Some(size) = node.size.filter(|size| node.rank >= *size && *size > 0) {
            let message = format!(
                "service {own} has {} {}, but ranks go from 0 to \
                    {}",
                node.name,
                node.rank,
                size - 1
            );
            found.push(Found::error(node.service.line_of(node.key), message, "Count from 0"));
        }
        if node.size.is_some_and(|size| size < 2) {
            continue;
        }
        let id = (node.name.clone(), node.master.clone(), node.rank);
        if let Some(other) = first.get(&id) {
            let message = format!(
                "services {} and {own} of one job both have {} {}; the rendezvous never completes",
                other.service.name, node.name, node.rank
            );
            found.push(Found::error(
                node.service.line_of(node.key),
                message,
                "Give each node its own \
                rank",
            ));
        } else {
            first.insert(id, node);
        }
    }
    found.extend(too_few(file, &nodes));
    found.extend(incomplete(file));
    found
}

/// Services with a rank that lack what another one with the same image and a rank has.
fn incomplete(file: &Compose) -> impl Iterator<Item = Found> {
    const NEEDED: &[&str] = &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"];
    let complete = file.services.iter().find(|one| {
        let environment = one.environment();
        ["RANK", "MASTER_ADDR", "WORLD_SIZE"].iter().all(|name| environment.contains_key(*name))
    });
    let services =
        file.services.iter().filter(|one| !one.extends_elsewhere && one.at(&["env_file"]).is_none());
    services.filter_map(move |service| {
        let (complete, own) = (complete?, service.environment());
        let other = complete.environment();
        let missing: Vec<&str> = NEEDED
            .iter()
            .filter(|name| other.contains_key(**name) && !own.contains_key(**name))
            .copied()
            .collect();
        let same = service.text("image").is_some() && service.text("image") == complete.text("image");
        let command = service.command();
        // An address in the command takes the place of the variables.
        let given = ["master", "rdzv", "tcp://", "torchrun"].iter().any(|word| command.contains(word));
        if !same || given || missing.is_empty() || !own.contains_key("RANK") {
            return None;
        }
        let message = format!(
            "service {} has a RANK but no {}, which service {} has",
            service.name,
            missing.join(" and no "),
            complete.name
        );
        let fix =
            "Add it to `environment`; `<<` of a whole service adds nothing to an `environment` of its own";
        Some(Found::warning(service.line_of("environment"), message, fix))
    })
}

/// Fewer nodes than the job has, where nobody else can join: the first one is a service of this file, in a
/// network of its own.
fn too_few(file: &Compose, nodes: &[Node]) -> Option<Found> {
    let first = nodes.first()?;
    let size = first.size.filter(|size| nodes.iter().all(|node| node.size == Some(*size)))?;
    let one_job = nodes.iter().all(|node| node.master == first.master && node.name == first.name);
    let master = file.services.iter().find(|one| one.name == first.master)?;
    let alone = |service: &Service| {
        let keys = ["network_mode", "scale", "ports", "extends"];
        let replicas = service.at(&["deploy", "replicas"]).is_some();
        !keys.iter().any(|key| service.at(&[key]).is_some()) && !replicas
    };
    let external = file.networks().any(|(_, network)| {
        network.as_mapping().is_some_and(|map| map.contains_key("external") || map.contains_key("driver"))
    });
    let started =
        first.name == "RANK" && nodes.iter().any(|node| programs::names_launcher(&node.service.command()));
    // A service with a rank and no address here gets it from elsewhere.
    let counted = |service: &Service| nodes.iter().any(|node| node.service.name == service.name);
    let uncounted =
        file.services.iter().any(|one| one.environment().contains_key(&first.name) && !counted(one));
    let ranks: std::collections::BTreeSet<u64> = nodes.iter().map(|node| node.rank).collect();
    let count = ranks.len() as u64;
    if !one_job
        || uncounted
        || external
        || started
        || file.stack != IsStack::No
        || !file.services.iter().all(alone)
    {
        return None;
    }
    let message = format!(
        "the job has {size} ranks, but {count} services of this file have a {}; {} waits for the others",
        first.name, master.name
    );
    let line = first.service.line_of(first.key);
    (count < size).then(|| Found::warning(line, message, "Add the missing services, or lower the number"))
}

fn nodes(service: &Service) -> Vec<Node<'_>> {
    let words = crate::read::compose::words(service.at(&["command"]));
    let command = words.join(" ");
    let words: Vec<&str> =
        command.split(|c: char| c.is_whitespace() || c == '=').filter(|one| !one.is_empty()).collect();
    let option = |names: &[&str]| {
        let at = words.iter().position(|word| names.contains(word))?;
        Some((words[at].to_owned(), words.get(at + 1)?.trim_matches(['"', '\'']).to_owned()))
    };
    let master = |key: &[&str]| option(key).map(|(_, value)| value).unwrap_or_default();
    let environment = service.environment();
    let variable = |name: &str| environment.get(name).cloned().flatten();
    let mut found = Vec::new();
    let rank = option(&["--node_rank", "--node-rank", "--machine_rank"]);
    // Another rendezvous gives the ranks out itself.
    let backend = option(&["--rdzv_backend", "--rdzv-backend"]).map(|(_, backend)| backend);
    let backend = backend.or_else(|| variable("PET_RDZV_BACKEND"));
    let is_static = backend.is_none_or(|backend| backend == "static") && !words.contains(&"--standalone");
    let rank = rank.filter(|_| is_static);
    if let Some((name, rank)) = rank.and_then(|(name, rank)| Some((name, rank.parse().ok()?))) {
        let size = option(&["--nnodes", "--num_machines"]).and_then(|(_, size)| size.parse().ok());
        let address = master(&["--master_addr", "--master-addr", "--rdzv_endpoint", "--main_process_ip"]);
        found.push(Node { service, key: "command", name, rank, size, master: address });
    }
    for (name, size) in [("RANK", "WORLD_SIZE"), ("NODE_RANK", "NNODES")] {
        if name == "NODE_RANK" && !is_static {
            continue;
        }
        let Some(rank) = variable(name).and_then(|rank| rank.parse().ok()) else { continue };
        let Some(address) = variable("MASTER_ADDR") else { continue };
        let size = variable(size).and_then(|size| size.parse().ok());
        found.push(Node { service, key: "environment", name: name.to_owned(), rank, size, master: address });
    }
    found
}
