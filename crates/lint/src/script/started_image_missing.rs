//! A script starts an image that does not exist.

use crate::dockerfile::base_image_missing::missing;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "started-image-missing",
    severity: Severity::Error,
    summary: "images that a script runs or pulls exist",
    explain: include_str!("started_image_missing.md"),
    judge: Judge::Script(judge),
    fires: &[named("test.sh", "docker run --rm --gpus all nvidia/cuda:11.8.0-base nvidia-smi\n")],
    silent: &[named(
        "test.sh",
        "docker run --rm --gpus all nvidia/cuda:12.6.3-base-ubuntu24.04 nvidia-smi\ndocker pull $IMAGE\n",
    )],
};

fn judge(script: &Script) -> Vec<Found> {
    let docker =
        script.commands.iter().filter(|command| matches!(command.program(), "docker" | "podman" | "nerdctl"));
    let starts = docker.filter(|command| matches!(command.word(1), "run" | "pull" | "create"));
    starts
        .filter_map(|command| {
            let names = command.words.iter().skip(2).filter(|word| word.known && !word.text.starts_with('-'));
            let mut images =
                names.filter(|word| REPOSITORIES.iter().any(|start| word.text.starts_with(start)));
            let image = images.next()?;
            missing(script.catalog, command.line, &image.text, command.certain)
        })
        .collect()
}

/// Repositories whose tags are known.
const REPOSITORIES: &[&str] = &[
    "nvidia/cuda:",
    "pytorch/pytorch:",
    "nvcr.io/nvidia/cuda:",
    "nvcr.io/nvidia/pytorch:",
    "docker.io/nvidia/cuda:",
];
