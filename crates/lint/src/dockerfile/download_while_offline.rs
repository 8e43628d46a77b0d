//! A download from the Hugging Face Hub while offline mode is on.

use crate::hf_transfer::is_on;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "download-while-offline",
    severity: Severity::Error,
    summary: "offline mode of the Hugging Face Hub is off while RUN downloads from it",
    explain: include_str!("download_while_offline.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HUB_OFFLINE=1\nRUN pip install huggingface_hub\nRUN \
             huggingface-cli \
             download BAAI/bge-m3\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV TRANSFORMERS_OFFLINE=1\nRUN pip install transformers==4.44.2\nRUN \
             python -c \
             \"from transformers import AutoModel; AutoModel.from_pretrained('BAAI/bge-m3')\"\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install huggingface_hub && huggingface-cli download \
             BAAI/bge-m3\nENV \
             HF_HUB_OFFLINE=1\nRUN python -c \"from transformers import AutoModel; \
             AutoModel.from_pretrained('BAAI/bge-m3')\"\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HUB_OFFLINE=1\nRUN HF_HUB_OFFLINE=0 huggingface-cli download \
             BAAI/bge-m3\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HUB_OFFLINE=1\nCOPY models /models\nRUN python -c \"from \
             transformers \
             import AutoModel; AutoModel.from_pretrained('/models/bge')\"\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HUB_OFFLINE=1\nCOPY cache /root/.cache/huggingface\nRUN \
             huggingface-cli \
             download BAAI/bge-m3\n",
        ),
    ],
};

/// Variables that keep the Hub's library from asking the Hub.
pub(crate) const OFFLINE: &[&str] = &["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().flat_map(of_stage).collect()
}

fn of_stage(stage: &Stage) -> Vec<Found> {
    let mut found = Vec::new();
    for run in &stage.runs {
        let Some(model) = downloads(&run.command) else { continue };
        let Some((name, value)) = offline(run) else {
            // What was downloaded before is in the cache.
            return found;
        };
        let message = format!(
            "{name}={value} is set when this command downloads {model}; the Hub is not contacted, and \
             the command fails because the files are not in the cache"
        );
        let fix = format!("Set {name} after the download, or write `{name}=0` before the command");
        if is_cached(stage, run.instruction) {
            continue;
        }
        let bare = stage.end.bare || stage.end.image.is_some();
        let certain = run.command.certain && bare && !stage.end.opaque;
        found.push(Found::error(run.command.line, message, fix).unless_certain(certain));
    }
    found
}

fn offline(run: &Run) -> Option<(&'static str, String)> {
    OFFLINE.iter().find_map(|name| {
        let value = run.variable(name)?.text?;
        is_on(&value).then_some((*name, value))
    })
}

/// Whether files of a cache may be there, copied or mounted.
fn is_cached(stage: &Stage, instruction: usize) -> bool {
    let named =
        |text: &str| ["cache", "huggingface", "/hf", "hub", "models"].iter().any(|part| text.contains(part));
    stage.instructions.iter().take(instruction + 1).any(|one| match one.keyword.as_str() {
        "COPY" | "ADD" => {
            let target = one.words().last().copied().unwrap_or_default();
            one.flag("from").is_some() || named(target)
        }
        "RUN" => one
            .flags
            .iter()
            .any(|flag| flag.starts_with("--mount") && !flag.contains("type=secret") && named(flag)),
        _ => false,
    })
}

/// What a command downloads from the Hub, if it certainly has to: `BAAI/bge-m3`.
pub(crate) fn downloads(command: &Command) -> Option<String> {
    let program = command.program();
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    if matches!(program, "huggingface-cli" | "hf") && words.get(1) == Some(&"download") {
        return words.get(2).filter(|word| is_repository(word)).map(|word| (*word).to_owned());
    }
    let code = words.iter().position(|word| *word == "-c").and_then(|at| words.get(at + 1));
    let code = code.filter(|_| program.starts_with("python"))?;
    if code.contains("local_files_only") || code.contains("environ") {
        return None;
    }
    const CALLS: &[&str] =
        &["snapshot_download(", "hf_hub_download(", "from_pretrained(", "SentenceTransformer("];
    CALLS.iter().find_map(|call| {
        let rest = &code[code.find(call)? + call.len()..];
        let argument = rest.split(')').next()?;
        let mut texts = argument.split(['\'', '"']).skip(1).step_by(2);
        texts.next().filter(|text| is_repository(text)).map(str::to_owned)
    })
}

/// `owner/name`, and no path.
fn is_repository(text: &str) -> bool {
    let Some((owner, name)) = text.split_once('/') else { return false };
    let plain = |part: &str| {
        part.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    };
    plain(owner) && plain(name) && !matches!(owner, "models" | "model" | "data" | "checkpoints" | "weights")
}
