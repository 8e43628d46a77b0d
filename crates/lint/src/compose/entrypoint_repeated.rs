//! A command that starts the server which the entrypoint of the image already starts.

use crate::image_entrypoints::repeated;
use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

use crate::read::compose::words;

pub(crate) const RULE: Rule = Rule {
    id: "entrypoint-repeated",
    severity: Severity::Error,
    summary: "commands for images whose entrypoint is a server have only its arguments",
    explain: include_str!("entrypoint_repeated.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.6.3\n    command: vllm serve a/b --dtype \
             bfloat16\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai\n    command: [python3, -m, \
             vllm.entrypoints.openai.api_server, --model, a/b]\n",
        ),
        compose("services:\n  a:\n    image: ollama/ollama:0.5.7\n    command: ollama serve\n"),
        named(
            "run.sh",
            "docker run --gpus all -p 8000:8000 --ipc=host vllm/vllm-openai:v0.6.3 vllm serve a/b\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run --gpus all --ipc=host --entrypoint vllm vllm/vllm-openai:v0.6.3 serve a/b\n",
        ),
        compose("services:\n  a:\n    image: vllm/vllm-openai:v0.6.3\n    command: --model a/b\n"),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.6.3\n    entrypoint: []\n    command: vllm \
             serve \
             a/b\n  c:\n    image: vllm/vllm-openai:v0.6.3\n    entrypoint: bash -c\n    command: [\"vllm \
             serve \
             a\"]\n",
        ),
        compose("services:\n  a:\n    image: ollama/ollama:0.5.7\n    command: serve\n"),
        compose(
            "services:\n  a:\n    image: lmsysorg/sglang:latest\n    command: python3 -m \
             sglang.launch_server\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let own = |service: &&Service| {
        !service.extends_elsewhere
            && service.value.as_mapping().is_some_and(|map| !map.contains_key("entrypoint"))
            && service.at(&["build"]).is_none()
    };
    let fault = |service: &Service| {
        let image = service.text("image")?;
        let words = words(service.at(&["command"]));
        let message = format!("{}: {}", service.title, repeated(&image, &words)?);
        let fix = if file.run { FIX_RUN } else { FIX_COMPOSE };
        Some(Found::error(service.line_of("command"), message, fix))
    };
    file.services.iter().filter(own).filter_map(fault).collect()
}

const FIX_RUN: &str = "Leave only the arguments behind the image, or add `--entrypoint ''`";
const FIX_COMPOSE: &str = "Leave only the arguments in command, or set `entrypoint: []`";
