//! A server that loads a model from a directory that its image does not have.

use crate::model_path::{local_models, not_mounted};
use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "model-path-not-mounted",
    severity: Severity::Error,
    summary: "models that servers load from a directory are mounted there",
    explain: include_str!("model_path_not_mounted.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    volumes: \
             [\"/srv/models:/data\"]\n    \
             command: --model /models/llama\n",
        ),
        compose(
            "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:3.0.1\n    \
             environment:\n      - MODEL_ID=/models/mistral\n    volumes:\n      - {type: bind, source: ./m, \
             target: /data}\n",
        ),
        compose(
            "services:\n  llm:\n    image: lmsysorg/sglang:v0.4.6\n    command: [python3, -m, \
             sglang.launch_server, --model-path=/models/qwen, --host, 0.0.0.0]\n",
        ),
        compose(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             tritonserver --model-repository=/models --model-repository=/ensembles\n    volumes: \
             [\"./models:/models:ro\"]\n",
        ),
        named(
            "serve.sh",
            "docker run --gpus all --shm-size 1g -v \"$PWD/repo:/repo\" \
             nvcr.io/nvidia/tritonserver:24.10-py3 tritonserver --model-store /models\n",
        ),
        named(
            "run.sh",
            "docker run --gpus all --ipc=host -v /srv/models:/models vllm/vllm-openai:v0.6.3 --model \
             /data/llama\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             tritonserver --model-repository s3://bucket/models\n  second:\n    image: \
             nvcr.io/nvidia/tritonserver:24.10-py3\n    command: tritonserver \
             --model-repository=/models/a\n    volumes: [\"./models:/models:ro\"]\n",
        ),
        named(
            "run.sh",
            "docker run --gpus all --ipc=host --mount type=bind,src=/srv,dst=/data vllm/vllm-openai:v0.6.3 \
             --model \
             /data/llama\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    volumes: \
             [\"/srv/models:/models:ro\"]\n\
             \x20   command: --model /models/llama\n  own:\n    image: example.net/vllm:1\n    command: vllm \
             serve /models/llama\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    command: --model meta/llama \
             --chat-template /vllm-workspace/examples/a.jinja\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    volumes_from: [models]\n    command: \
             --model /models/llama\n  models:\n    image: example.net/models:1\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| {
        !one.extends_elsewhere && one.at(&["volumes_from"]).is_none() && one.at(&["build"]).is_none()
    };
    file.services.iter().filter(whole).filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let image = service.text("image")?;
    let words = service.words();
    let variables = service.variables();
    // configs and secrets are mounted too, and a mount may be a part of the path.
    let mounts = service.mounts();
    let is_mounted =
        |path: &String| mounts.iter().any(|one| one.holds(path) || one.target.starts_with(path.as_str()));
    let mut models = local_models(&image, &words, &variables).into_iter();
    let (option, path) = models.find(|(_, path)| !is_mounted(path))?;
    let unclear = ["configs", "secrets"].iter().any(|key| service.at(&[key]).is_some());
    if unclear || mounts.iter().any(|one| one.target.contains('$')) {
        return None;
    }
    let key = if option == "MODEL_ID" { "environment" } else { "command" };
    let targets: Vec<&str> = mounts.iter().map(|one| one.target.as_str()).collect();
    let who = if file.run { ("container", image.as_str()) } else { ("service", service.name.as_str()) };
    let message = not_mounted(who, (&option, &path), &image, &targets);
    Some(Found::error(service.line_of(key), message, format!("Mount the directory of the model at {path}")))
}
