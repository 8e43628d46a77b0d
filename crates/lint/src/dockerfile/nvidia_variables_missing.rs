//! Nothing in the image asks for GPUs.

use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::torch;
use catalog::images::Flavour;

pub(crate) const RULE: Rule = Rule {
    id: "nvidia-variables-missing",
    severity: Severity::Note,
    summary: "GPU images set NVIDIA_VISIBLE_DEVICES and NVIDIA_DRIVER_CAPABILITIES",
    explain: include_str!("nvidia_variables_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM python:3.12-slim\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu124\n",
    )],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nENV NVIDIA_VISIBLE_DEVICES=all\n\
             RUN pip install torch --index-url https://download.pytorch.org/whl/cu124\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip && pip3 install torch\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install torch --index-url https://download.pytorch.org/whl/cpu\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped = file.shipped();
    let plain = |stage: &&Stage| stage.end.image.is_some_and(|image| image.flavour == Flavour::Plain);
    let Some(base) =
        shipped.last().filter(|stage| matches!(stage.from, From::Image(_))).filter(|stage| plain(stage))
    else {
        return Vec::new();
    };
    let set = shipped.iter().any(|stage| stage.end.variables.has("NVIDIA_VISIBLE_DEVICES"));
    let gpu = shipped.iter().flat_map(|stage| &stage.runs).any(|run| {
        run.install.as_ref().is_some_and(|install| {
            let local = install.requirement("torch").and_then(|one| one.local.as_deref());
            let index =
                install.index.iter().chain(&install.extra).filter_map(|url| torch::build_of_index(&url.text));
            install.requirement("torch").is_some() && local.into_iter().chain(index).any(torch::is_cuda_build)
        })
    });
    if set || !gpu {
        return Vec::new();
    }
    let message = "NVIDIA_VISIBLE_DEVICES is not set; containers started without --gpus, CDI or a compose \
        device request get no GPU";
    vec![
        Found::note(
            base.line,
            message,
            "Add `ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility`",
        )
        .about("NVIDIA_VISIBLE_DEVICES"),
    ]
}
