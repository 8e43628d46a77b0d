//! A server that only its own container reaches, although others should.

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};
use crate::servers::of_service;

use super::peer_unreachable::addresses;
use super::published_port_unserved::shares_network;

pub(crate) const RULE: Rule = Rule {
    id: "service-on-loopback",
    severity: Severity::Warning,
    summary: "servers that others reach listen on more than the loopback interface",
    explain: include_str!("service_on_loopback.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  api:\n    image: example/api\n    command: uvicorn app:app --host 127.0.0.1 \
             --port 7000\n\
             \x20   ports: [\"7000:7000\"]\n",
        ),
        compose(
            "services:\n  llm:\n    image: lmsysorg/sglang:v0.4.6\n    command: python3 -m \
             sglang.launch_server \
             --model-path a/b\n  web:\n    image: example/web\n    environment: \
             {LLM_URL: \"http://llm:30000\"}\n",
        ),
        named(
            "run.sh",
            "docker run --gpus all -p 8000:8000 --ipc=host vllm/vllm-openai:v0.6.3 --model a/b --host \
             127.0.0.1\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run --gpus all --network host --ipc=host vllm/vllm-openai:v0.6.3 --model a/b --host \
             127.0.0.1\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: uvicorn app:app --host \
             0.0.0.0\n    ports: \
             [\"8000:8000\"]\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: uvicorn app:app\n    environment: \
             {UVICORN_HOST: 0.0.0.0}\n    ports: [\"8000:8000\"]\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    network_mode: host\n    command: uvicorn \
             app:app\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: uvicorn app:app --port \
             7000\n    ports: \
             [\"80:80\"]\n  proxy:\n    image: nginx\n    network_mode: service:api\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    if service.at(&["network_mode"]).is_some() || shares_network(file, service) {
        return None;
    }
    let server = of_service(file, service)?;
    let address = server.loopback?;
    let names_it = |one: &&Service| {
        one.name != service.name && addresses(one).iter().any(|address| address.host == service.name)
    };
    let effect = match file.services.iter().find(names_it) {
        _ if service.at(&["ports"]).is_some() => "its published port refuses connections".to_owned(),
        Some(other) => format!("service {} cannot connect to it", other.name),
        None => return None,
    };
    let message = format!(
        "{}: {} listens on the loopback interface of its container ({address}); {effect}",
        service.title, server.name
    );
    let key = if service.at(&["command"]).is_some() { "command" } else { "build" };
    let fix = "Listen on 0.0.0.0; to limit access, publish the port on one address of the host";
    Some(Found::warning(service.line_of(key), message, fix))
}
