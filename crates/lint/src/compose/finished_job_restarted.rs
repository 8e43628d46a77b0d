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
        compose(
            "services:\n  train:\n    image: train:1\n    command: python train.py --data-dir /data --epochs \
             30\n    restart: always\n",
        ),
    ],
    silent: &[
        // It may wait for the next job.
        compose(
            "services:\n  train:\n    image: train:1\n    command: python train_worker.py --queue \
             redis://q\n    \
             restart: always\n",
        ),
        compose(
            "services:\n  train:\n    image: train:1\n    command: python train.py --epochs 30 --resume \
             auto\n    \
             restart: always\n",
        ),
        compose(
            "services:\n  train:\n    image: train:1\n    command: python train.py --epochs 30\n    restart: \
             on-failure\n",
        ),
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

/// An option that ends a training: `--epochs`, `--max_steps=1000`.
fn is_bound(word: &str) -> bool {
    const OPTIONS: &[&str] =
        &["--epochs", "--num-epochs", "--num-train-epochs", "--max-epochs", "--max-steps", "--train-steps"];
    let name = word.split('=').next().unwrap_or_default().replace('_', "-");
    OPTIONS.contains(&name.as_str())
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
    // `python train.py` may wait for work; a number of epochs or steps ends it.
    let python =
        words.iter().any(|word| programs::is_python(word)) && words.iter().any(|word| is_bound(word));
    ((programs::launches(&command) || python) && trains && !resumes).then(|| {
        Found::warning(
            service.line_of("restart"),
            message,
            "Write `restart: on-failure`, or `restart: \"no\"`",
        )
    })
}
