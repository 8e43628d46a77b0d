//! A model that is downloaded into a cache mount, and is not in the image.

use crate::hf_transfer::is_on;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

use super::download_while_offline::{OFFLINE, downloads};

pub(crate) const RULE: Rule = Rule {
    id: "download-left-in-mount",
    severity: Severity::Error,
    summary: "models that RUN downloads are in the image, not in a cache mount",
    explain: include_str!("download_left_in_mount.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM vllm/vllm-openai:v0.8.5\nRUN --mount=type=cache,target=/root/.cache/huggingface \
             huggingface-cli \
             download BAAI/bge-m3\nENV HF_HUB_OFFLINE=1\nCMD [\"--model\", \"BAAI/bge-m3\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HOME=/cache/hf\nRUN pip install transformers==4.44.2\nRUN \
             --mount=type=cache,target=/cache python -c \"from transformers import AutoModel; \
             AutoModel.from_pretrained('BAAI/bge-m3')\"\nCMD [\"python\", \"serve.py\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub==0.25.2\nRUN \
             --mount=type=cache,target=/root/.cache/huggingface huggingface-cli download BAAI/bge-m3 \
             --local-dir \
             /models/bge\nENV HF_HUB_OFFLINE=1\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub==0.25.2\nRUN \
             --mount=type=cache,target=/root/.cache/huggingface huggingface-cli download BAAI/bge-m3 && cp \
             -rL \
             /root/.cache/huggingface /models\nENV HF_HUB_OFFLINE=1 HF_HOME=/models\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub==0.25.2\nRUN \
             --mount=type=cache,target=/root/.cache/pip huggingface-cli download BAAI/bge-m3\nENV \
             HF_HUB_OFFLINE=1\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.shipped().into_iter().flat_map(of_stage).collect()
}

fn of_stage(stage: &Stage) -> Vec<Found> {
    let found = stage.runs.iter().filter_map(|run| {
        let model = downloads(&run.command)?;
        let instruction = stage.instructions.get(run.instruction)?;
        let to = destination(run)?;
        let target =
            instruction.flags.iter().filter_map(|flag| cache(flag)).find(|target| is_below(&to, target))?;
        let copies = ["cp", "mv", "rsync", "tar", "install", "ln"];
        if stage.commands_of(run.instruction).iter().any(|one| copies.contains(&one.command.program())) {
            return None;
        }
        let offline = OFFLINE.iter().find(|name| {
            let value = stage.end.variables.get(name).and_then(|value| value.text.clone());
            value.is_some_and(|value| is_on(&value))
        });
        let effect = match offline {
            Some(name) => format!("and with {name} the container finds no model"),
            None => "and the container downloads it again".to_owned(),
        };
        let message = format!(
            "{model} is downloaded to {to}, which is in the cache mount {target}: it is not part of the \
             image, \
             {effect}"
        );
        let fix = "Copy it out of the mount in the same RUN, or download with `--local-dir` to another \
                directory";
        Some(Found::error(run.command.line, message, fix).unless_certain(offline.is_some()))
    });
    found.take(1).collect()
}

/// Where the Hub's library puts files.
fn destination(run: &Run) -> Option<String> {
    let words = &run.command.words;
    let option = ["--local-dir", "--cache-dir"].iter().find_map(|name| {
        words.iter().enumerate().find_map(|(at, word)| match word.text.split_once('=') {
            Some((own, value)) => (own == *name).then(|| value.to_owned()),
            None => (word.text == *name).then(|| words.get(at + 1).map(|next| next.text.clone()))?,
        })
    });
    if option.is_some() {
        return option;
    }
    if words.iter().any(|word| word.text.contains("local_dir") || word.text.contains("cache_dir")) {
        return None;
    }
    let value = |name: &str| run.variable(name).map(|value| value.text);
    for name in ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"] {
        if let Some(value) = value(name) {
            return value;
        }
    }
    let user = value("HOME").is_some() || value("XDG_CACHE_HOME").is_some();
    (!user).then(|| "/root/.cache/huggingface".to_owned())
}

/// The target of a cache mount.
fn cache(flag: &str) -> Option<&str> {
    let mut parts = flag.split(',');
    if !flag.starts_with("--mount") || !flag.contains("type=cache") {
        return None;
    }
    parts.find_map(|part| {
        let (key, value) = part.rsplit_once('=')?;
        matches!(key.rsplit('=').next()?, "target" | "dst" | "destination")
            .then_some(value.trim_end_matches('/'))
    })
}
