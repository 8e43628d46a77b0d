//! Nodes of one job in services that do not meet: an own port, or an address that is each container's own.

use std::collections::BTreeMap;

use crate::read::compose::{Compose, Service, text};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};

use super::peer_unreachable::networks;

/// A compose file with an env file as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "rendezvous-differs",
    severity: Severity::Error,
    summary: "the services of one job have the same MASTER_ADDR and MASTER_PORT",
    explain: include_str!("rendezvous_differs.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  first:\n    image: fit:1\n    environment: {MASTER_ADDR: localhost, MASTER_PORT: \
             29500, \
             NODE_RANK: 0}\n  second:\n    image: fit:1\n    environment: {MASTER_ADDR: localhost, \
             MASTER_PORT: \
             29500, NODE_RANK: 1}\n",
        ),
        compose(
            "services:\n  first:\n    build: .\n    environment: [RANK=0, MASTER_ADDR=first, \
             MASTER_PORT=6000]\n  \
             second:\n    build: .\n    environment: [RANK=1, MASTER_ADDR=first, MASTER_PORT=6001]\n",
        ),
        with(
            "services:\n  first:\n    image: fit:1\n    env_file: [job.conf]\n    environment: {NODE_RANK: \
             0}\n  \
             second:\n    image: fit:1\n    env_file: [job.conf]\n    environment: {NODE_RANK: 1, \
             MASTER_PORT: \
             29501}\n",
            &[("job.conf", "# the first node\nMASTER_ADDR=first\nMASTER_PORT=29500\n")],
        ),
    ],
    silent: &[
        compose(
            "services:\n  first:\n    image: fit:1\n    environment: {MASTER_ADDR: first, MASTER_PORT: \
             29500, \
             NODE_RANK: 0}\n  second:\n    image: fit:1\n    environment: {MASTER_ADDR: first, MASTER_PORT: \
             29500, NODE_RANK: 1}\n",
        ),
        // Both share the network of the host.
        compose(
            "services:\n  first:\n    image: fit:1\n    network_mode: host\n    environment: {MASTER_ADDR: \
             localhost, NODE_RANK: 0}\n  second:\n    image: fit:1\n    network_mode: host\n    environment: \
             {MASTER_ADDR: localhost, NODE_RANK: 1}\n",
        ),
        // Two jobs of one node each.
        compose(
            "services:\n  one:\n    image: fit:1\n    environment: {MASTER_ADDR: one, MASTER_PORT: 6000, \
             NODE_RANK: 0}\n  two:\n    image: fit:1\n    environment: {MASTER_ADDR: two, MASTER_PORT: \
             6001, NODE_RANK: 0}\n",
        ),
        // Its own first node listens on all of its addresses.
        compose(
            "services:\n  first:\n    image: fit:1\n    environment: {MASTER_ADDR: localhost, NODE_RANK: \
             0}\n  \
             second:\n    image: fit:1\n    environment: {MASTER_ADDR: first, NODE_RANK: 1}\n",
        ),
        compose(
            "services:\n  a0:\n    image: a\n    environment: {MASTER_ADDR: a0, MASTER_PORT: 1, RANK: 0}\n  \
             b1:\n    image: b\n    environment: {MASTER_ADDR: a0, MASTER_PORT: 2, RANK: 1}\n",
        ),
    ],
};

/// A node of a job.
struct Node<'s> {
    service: &'s Service,
    rank: u64,
    address: String,
    port: Option<String>,
}

fn judge(file: &Compose) -> Vec<Found> {
    // Nodes of one job start the same image and have their rank under the same name.
    let mut jobs: BTreeMap<(String, &str), Vec<Node>> = BTreeMap::new();
    for service in file.services.iter().filter(|one| !one.extends_elsewhere) {
        let Some(image) = image(service) else { continue };
        let Some(variables) = variables(file, service) else { continue };
        let named = ["NODE_RANK", "MACHINE_RANK", "RANK"].into_iter();
        let rank = named.filter_map(|name| Some((name, variables.get(name)?.parse().ok()?))).next();
        let address = variables.get("MASTER_ADDR").filter(|one| !one.is_empty() && !one.contains('$'));
        let (Some((name, rank)), Some(address)) = (rank, address) else { continue };
        let port = variables.get("MASTER_PORT").filter(|port| !port.contains('$')).cloned();
        jobs.entry((image, name)).or_default().push(Node { service, rank, address: address.clone(), port });
    }
    jobs.into_values().filter_map(|nodes| fault(&nodes)).collect()
}

fn fault(nodes: &[Node]) -> Option<Found> {
    // Where a rank stands twice there are several jobs.
    let mut ranks: Vec<u64> = nodes.iter().map(|node| node.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let first = nodes.iter().find(|node| node.rank == 0).filter(|_| ranks.len() == nodes.len())?;
    let others = nodes.iter().filter(|node| node.rank > 0);
    others.filter_map(|node| own_address(first, node).or_else(|| other_port(first, node))).next()
}

/// A loopback address in a container with a network of its own.
fn own_address(first: &Node, node: &Node) -> Option<Found> {
    let loopback = node.address == "localhost" || node.address.starts_with("127.") || node.address == "::1";
    networks(node.service).filter(|_| loopback)?;
    let (own, name) = (&node.service.name, &first.service.name);
    let message = format!(
        "MASTER_ADDR={} in service {own} is its own container, and the first node is service {name}; the \
         rendezvous never completes",
        node.address
    );
    let fix = format!("Set MASTER_ADDR to {name} in all services of the job");
    Some(Found::error(node.service.line_of("environment"), message, fix).about("MASTER_ADDR"))
}

fn other_port(first: &Node, node: &Node) -> Option<Found> {
    let (own, port) = (node.port.as_ref()?, first.port.as_ref()?);
    if own == port || node.address != first.address {
        return None;
    }
    let message = format!(
        "service {} has MASTER_PORT {own}, but the first node, service {}, listens on {port}; the rendezvous \
         never completes",
        node.service.name, first.service.name
    );
    let fix = "Give all services of the job the same MASTER_PORT";
    Some(Found::error(node.service.line_of("environment"), message, fix).about("MASTER_PORT"))
}

/// What a service runs: its image, or where it is built.
fn image(service: &Service) -> Option<String> {
    let built = service.at(&["build"]).map(|build| text(build).unwrap_or_else(|| format!("{build:?}")));
    built.or_else(|| service.text("image"))
}

/// The variables of a service, with those of its env files; nothing where one of these is not known.
fn variables(file: &Compose, service: &Service) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for path in service.env_files() {
        let path = crate::read::dockerfile::copied::join("", &path);
        let text = file.files.get(&path)?.as_deref()?;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.split_once('=') else { continue };
            let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            found.insert(name.trim_start_matches("export ").trim().to_owned(), value.to_owned());
        }
    }
    for (name, value) in service.environment() {
        // A name without a value takes that of the shell.
        match value {
            Some(value) => found.insert(name, value.trim_matches(['"', '\'']).to_owned()),
            None => found.remove(&name),
        };
    }
    Some(found)
}
