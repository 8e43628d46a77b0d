//! A server that only its own container reaches, although others should.

use crate::read::compose::{Compose, Service};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose, named};
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
        built(
            "services:\n  ui:\n    build: .\n    command: [python, main.py, --port, \"8188\"]\n    ports: \
             [\"8188:8188\"]\n",
            &[("Dockerfile", COMFY)],
        ),
        compose(
            "services:\n  ui:\n    image: example.net/comfy:3\n    command: bash -c \"cd /srv/ComfyUI && \
             exec python3 -u main.py --preview-method auto\"\n    ports: [\"80:8188\"]\n",
        ),
        compose(
            "services:\n  runs:\n    image: ghcr.io/mlflow/mlflow:v2.17.0\n    command: mlflow server \
             --backend-store-uri sqlite:////db/mlflow.db\n    ports: [\"5000:5000\"]\n  app:\n    image: \
             example.net/app:1\n    command: python -m flask run --port 80\n    ports: [\"80:80\"]\n",
        ),
        built(
            "services:\n  lab:\n    build: .\n    ports: [\"8888:8888\"]\n",
            &[(
                "Dockerfile",
                "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN pip install \
                 jupyterlab\nCMD [\"jupyter\", \"lab\", \"--allow-root\", \"--no-browser\"]\n",
            )],
        ),
    ],
    silent: &[
        built(
            "services:\n  ui:\n    build: .\n    command: [python, main.py, --listen, --port, \
             \"8188\"]\n    ports: [\"8188:8188\"]\n",
            &[("Dockerfile", COMFY)],
        ),
        built(
            "services:\n  lab:\n    build: .\n    command: jupyter lab --no-browser\n    ports: \
             [\"8888:8888\"]\n    volumes: [\"./jupyter:/root/.jupyter\"]\n",
            &[("Dockerfile", "FROM python:3.12\nRUN pip install jupyterlab\n")],
        ),
        compose(
            "services:\n  lab:\n    image: quay.io/jupyter/pytorch-notebook:cuda12-2024-10-01\n    \
             command: jupyter lab\n    ports: [\"8888:8888\"]\n  board:\n    image: \
             nvcr.io/nvidia/pytorch:24.10-py3\n    command: tensorboard --logdir /runs\n    ports: \
             [\"6006:6006\"]\n  runs:\n    image: ghcr.io/mlflow/mlflow:v2.17.0\n    command: mlflow \
             server -h 0.0.0.0\n    ports: [\"5000:5000\"]\n  app:\n    image: example.net/app:1\n    \
             command: flask --app web run\n    environment: {FLASK_RUN_HOST: 0.0.0.0}\n    ports: \
             [\"5000\"]\n  llm:\n    image: ollama/ollama:0.5.4\n    ports: [\"11434:11434\"]\n",
        ),
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

const COMFY: &str = "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN git clone --depth 1 \
                     https://github.com/comfyanonymous/ComfyUI.git /app\nWORKDIR /app\n";

const fn built(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

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
