//! A service that waits for one that needs it.

use serde_yaml::Value;

use super::peer_unreachable::{Address, addresses, names};
use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "dependency-needs-dependent",
    severity: Severity::Error,
    summary: "no service waits for the end of one that needs it or never ends",
    explain: include_str!("dependency_needs_dependent.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  rank0:\n    image: b\n    command: torchrun --nnodes=2 --node-rank=0 \
             --master-addr=rank0 t.py\n    depends_on:\n      rank1:\n        condition: \
             service_completed_successfully\n  rank1:\n    image: b\n    command: torchrun --nnodes=2 \
             --node-rank=1 --master-addr=rank0 t.py\n",
        ),
        compose(
            "services:\n  main:\n    image: b\n    hostname: head\n    depends_on: {other: {condition: \
             service_healthy}}\n  other:\n    image: b\n    environment: [MASTER_ADDR=head, RANK=1]\n    \
             healthcheck: {test: \"test -f /tmp/joined\"}\n",
        ),
        compose(
            "services:\n  api:\n    image: b\n    depends_on: {seed: {condition: \
             service_completed_successfully}}\n  seed:\n    image: c\n    command: python seed.py --url \
             http://api:8080\n",
        ),
        compose(
            "services:\n  eval:\n    image: b\n    depends_on:\n      llm: {condition: \
             service_completed_successfully}\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: \
             [--model, a/b]\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  rank0:\n    image: b\n    command: torchrun --nnodes=2 --node-rank=0 \
             --master-addr=rank0 t.py\n    depends_on: {fetch: {condition: \
             service_completed_successfully}}\n  rank1:\n    image: b\n    command: torchrun --nnodes=2 \
             --node-rank=1 --master-addr=rank0 t.py\n    depends_on: [rank0]\n  fetch:\n    image: b\n    \
             command: python fetch.py --from http://example.com/rank0\n",
        ),
        compose(
            "services:\n  rank0:\n    image: b\n    depends_on: [rank1]\n  rank1:\n    image: \
             b\n    command: \
             torchrun --nnodes=2 --node-rank=1 --master-addr=rank0 t.py\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, a/b]\n    \
             healthcheck: {test: curl -f http://localhost:8000/health, start_period: \
             10m}\n  app:\n    image: \
             b\n    environment: {LLM_URL: \"http://llm:8000\"}\n    depends_on: {llm: {condition: \
             service_healthy}}\n",
        ),
    ],
};

/// Names of variables and options with the address of the first rank: a rank waits for it before anything
/// else.
const RENDEZVOUS: &[&str] = &["MASTER_ADDR", "--master", "--rdzv", "--main_process_ip"];

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    file.services.iter().flat_map(|service| faults(file, service)).collect()
}

fn faults(file: &Compose, service: &Service) -> Vec<Found> {
    let Some(Value::Mapping(map)) = service.at(&["depends_on"]) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in map {
        let (Some(name), Some(condition)) = (text(name), below(value, &["condition"]).and_then(text)) else {
            continue;
        };
        let ends = match condition.as_str() {
            "service_completed_successfully" => true,
            "service_healthy" => false,
            _ => continue,
        };
        let other = file.services.iter().find(|one| one.name == name && !one.extends_elsewhere);
        let Some(other) = other.filter(|one| one.name != service.name) else { continue };
        let line = file.line(&["services", &service.name, "depends_on", &name]);
        found.extend(
            needed(service, other, ends).or_else(|| endless(file, service, other, ends)).map(
                |Fault { message, fix, certain }| Found::error(line, message, fix).unless_certain(certain),
            ),
        );
    }
    found
}

struct Fault {
    message: String,
    fix: String,
    certain: bool,
}

/// The other one connects to this service, which is not started yet.
fn needed(service: &Service, other: &Service, ends: bool) -> Option<Fault> {
    let own = names(service);
    let joins = |address: &Address| RENDEZVOUS.iter().any(|start| address.name.starts_with(start));
    let all = addresses(other);
    let address = all.iter().filter(|one| own.contains(&one.host)).max_by_key(|address| joins(address))?;
    // A server may be healthy before it asks another one.
    if !ends && !joins(address) {
        return None;
    }
    let until = if ends { "until it has completed" } else { "until it is healthy" };
    let message = format!(
        "service {} waits for {} {until}, but {} connects to {} ({} {}), which is not started before",
        service.name, other.name, other.name, service.name, address.name, address.host
    );
    let fix = format!("Remove the dependency, or let {} depend on {}", other.name, service.name);
    Some(Fault { message, fix, certain: ends && joins(address) })
}

/// The other one is a server, which does not end.
fn endless(file: &Compose, service: &Service, other: &Service, ends: bool) -> Option<Fault> {
    let server = of_service(file, other).filter(|_| ends)?;
    let message = format!(
        "service {} waits until {} has completed, but {} is a server and does not end by itself",
        service.name, other.name, server.name
    );
    let fix = "Wait for `service_healthy` with a health check, or for `service_started`".to_owned();
    Some(Fault { message, fix, certain: false })
}
