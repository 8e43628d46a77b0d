//! A published port, or one of a health check, on which the server does not listen.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, text, words};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};
use crate::servers::{Server, is_rendezvous, local_ports, of_service};

use super::peer_unreachable::container_ports;

pub(crate) const RULE: Rule = Rule {
    id: "published-port-unserved",
    severity: Severity::Warning,
    summary: "published ports and health checks lead to the port of the server",
    explain: include_str!("published_port_unserved.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, a/b, \
             --port, \"8000\"]\n\
             \x20   ports: [\"8080:8080\"]\n",
        ),
        compose(
            "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:2.4.0\n    command: \
             --model-id a/b\n    ports: [\"8080:8080\"]\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: uvicorn app:app --host 0.0.0.0 \
             --port 9000\n\
             \x20   healthcheck: {test: curl -f http://localhost:8000/health}\n",
        ),
        named(
            "run.sh",
            "docker run -d --gpus all -p 8000:80 --ipc=host vllm/vllm-openai:v0.6.3 --model a/b\n",
        ),
    ],
    silent: &[
        // Images of others may set PORT.
        compose(
            "services:\n  tei:\n    image: example/text-embeddings-inference-cpu:1.7\n    entrypoint: \
             text-embeddings-router --model-id a/b\n    ports: [\"6006:80\"]\n",
        ),
        named(
            "run.sh",
            "docker run -d --gpus all -p 80:8000 --ipc=host vllm/vllm-openai:v0.6.3 --model a/b \
             $EXTRA_ARGS\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n    ports: \
             [\"8080:8000\", \"9400:9400\"]\n    healthcheck: {test: curl -f \
             http://localhost:8000/health}\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: --model a/b --port \
             ${PORT}\n\
             \x20   ports: [\"8080:8080\"]\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n    ports: \
             [\"443:443\"]\n  proxy:\n    image: nginx\n    network_mode: service:llm\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    network_mode: host\n    command: \
             [--model, \
             a/b]\n    ports: [\"8080:8080\"]\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: bash -c \"nginx & uvicorn a:b --port \
             9000\"\n\
             \x20   ports: [\"80:80\"]\n",
        ),
        compose(
            "services:\n  sglang:\n    image: lmsysorg/sglang:v0.3.4-cu121\n    command: python3 -m \
             sglang.launch_server --model-path a/b --nnodes 2 --port 30000 --dist-init-addr 10.0.0.1:20000\n\
             \x20   ports: [\"20000:20000\"]\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let of_one = |service: &Service| {
        let server = of_service(file, service)?;
        let shared = shares_network(file, service);
        let health = health(service, &server).filter(|_| !shared);
        Some([published(file, service, &server), health].into_iter().flatten())
    };
    file.services.iter().filter_map(of_one).flatten().collect()
}

/// Ports that are published, and none of them is the server's.
fn published(file: &Compose, service: &Service, server: &Server) -> Option<Found> {
    if service.at(&["network_mode"]).is_some() || shares_network(file, service) {
        return None;
    }
    service.at(&["ports"])?;
    let ports = container_ports(service).into_iter().map(|port| port.parse::<u16>().ok());
    let ports: Vec<u16> = ports.collect::<Option<_>>()?;
    let first = ports.first()?;
    let given: Vec<String> =
        ["entrypoint", "command"].iter().flat_map(|key| words(service.at(&[*key]))).collect();
    let variables = service.environment().into_iter().filter_map(|(name, value)| Some((name, value?)));
    let variables: Vec<(String, String)> = variables.collect();
    let is_unserved =
        |port: &u16| server.listens_on(*port) == Some(false) && !is_rendezvous(&given, &variables, *port);
    if !ports.iter().all(is_unserved) {
        return None;
    }
    let port = server.port()?.number;
    let message = format!(
        "{}: {}, but port {first} of the container is published; nothing answers there",
        service.title,
        server.sentence()
    );
    let fix = format!("Publish port {port} of the container: `HOST_PORT:{port}`");
    Some(Found::warning(service.line_of("ports"), message, fix))
}

/// Whether other services are in the network of this one, and may listen on its ports.
pub(super) fn shares_network(file: &Compose, service: &Service) -> bool {
    let name = format!("service:{}", service.name);
    file.services.iter().any(|one| one.text("network_mode").as_deref() == Some(name.as_str()))
}

/// A health check of another port.
fn health(service: &Service, server: &Server) -> Option<Found> {
    // In the network of the host or of another service others listen too.
    if service.at(&["network_mode"]).is_some() {
        return None;
    }
    let test = match service.at(&["healthcheck", "test"])? {
        Value::Sequence(items) => items.iter().filter_map(text).collect::<Vec<_>>().join(" "),
        other => text(other)?,
    };
    let ports = local_ports(&test);
    let wrong = ports.iter().find(|port| server.listens_on(**port) == Some(false))?;
    if ports.iter().any(|port| server.listens_on(*port) == Some(true)) {
        return None;
    }
    let message = format!(
        "{}: {}, but its health check asks port {wrong}; the container never gets healthy",
        service.title,
        server.sentence()
    );
    let fix = format!("Check port {}", server.port()?.number);
    Some(Found::warning(service.line_of("healthcheck"), message, fix))
}
