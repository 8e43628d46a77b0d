//! A training job that starts again when it has finished.

use crate::programs;
use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "finished-job-restarted",
    severity: Severity::Warning,
    summary: "services that end are not restarted after success",
    explain: include_str!("finished_job_restarted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  train:\n    image: train:1\n    command: torchrun --standalone \
             --nproc-per-node=8 train.py\n    gpus: all\n    ipc: host\n    restart: always\n",
        ),
        compose(
            "services:\n  train:\n    image: train:1\n    command: [accelerate, launch, finetune.py]\n    \
             gpus: all\n    ipc: host\n    restart: unless-stopped\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  train:\n    image: train:1\n    command: torchrun --standalone \
             --nproc-per-node=8 train.py\n    gpus: all\n    ipc: host\n    restart: on-failure:3\n",
        ),
        compose(
            "services:\n  serve:\n    image: serve:1\n    command: torchrun --standalone \
             --nproc-per-node=8 serve.py --port 8000\n    gpus: all\n    ipc: host\n    restart: always\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(fault).collect()
}

fn fault(service: &Service) -> Option<Found> {
    let policy =
        service.text("restart").filter(|text| matches!(text.as_str(), "always" | "unless-stopped"))?;
    let command = service.command();
    let words: Vec<&str> =
        command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let trains = words.iter().any(|word| {
        let lower = word.to_ascii_lowercase();
        lower.ends_with(".py")
            && ["train", "finetune", "fine_tune", "sft", "pretrain"].iter().any(|name| lower.contains(name))
    });
    let resumes =
        command.contains("resume") || command.contains("while ") || service.at(&["ports"]).is_some();
    let message = format!(
        "{} trains and has `restart: {policy}`: Docker starts it again also after it has finished, from the \
         beginning",
        service.title
    );
    (programs::launches(&command) && trains && !resumes).then(|| {
        Found::warning(
            service.line_of("restart"),
            message,
            "Write `restart: on-failure`, or `restart: \"no\"`",
        )
    })
}
