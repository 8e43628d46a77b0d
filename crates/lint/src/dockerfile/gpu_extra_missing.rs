//! An extra with the libraries of CUDA that the pinned release does not have yet.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};

pub(crate) const RULE: Rule = Rule {
    id: "gpu-extra-missing",
    severity: Severity::Error,
    summary: "the pinned release has the extra that brings the CUDA libraries",
    explain: include_str!("gpu_extra_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        named("requirements.txt", "tensorflow[and-cuda]==2.13.0\nnumpy==1.24.3\n"),
        named("requirements.txt", "tensorflow[intel,and-cuda]==2.13.0\n"),
        dockerfile("FROM python:3.11-slim\nRUN pip install 'tensorflow[and_cuda]==2.12.1'\n"),
    ],
    silent: &[
        named("requirements.txt", "tensorflow[and-cuda]==2.14.0\n"),
        named("requirements.txt", "tensorflow==2.13.0\n"),
        named("requirements.txt", "tensorflow[and-cuda]>=2.13\n"),
        // The image has the libraries.
        dockerfile(
            "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install 'tensorflow[and-cuda]==2.13.0'\n",
        ),
        dockerfile("FROM python:3.11\nARG TF=2.13.0\nRUN pip install tensorflow[and-cuda]==$TF\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (stage, run, install) in file.installs() {
        let lineage = file.lineage(stage);
        let cuda = lineage.iter().any(|one| one.end.image.is_some_and(|image| image.cuda.is_some()));
        let base = file.base(stage);
        if cuda || base.is_some_and(|base| base.text.contains("nvcr.io")) {
            continue;
        }
        // A list alone says nothing of the image.
        let certain = install.certain && base.is_some_and(|base| base.known && !base.default);
        for one in install.requirements.iter().filter(|one| !one.default) {
            let Some(pin) = &one.pin else { continue };
            let table = run.state.catalog.gpu_extras();
            let row = one.extras().find_map(|extra| table.missing(&one.name, &extra, pin));
            let Some(row) = row else { continue };
            let message = format!(
                "{} {} has no extra {}, which came with {}: pip only warns, and the CUDA libraries are \
                 missing",
                one.name, one.pin_text, row.extra, row.since
            );
            let fix = format!("Use {} {} or newer, or a base image with CUDA and cuDNN", one.name, row.since);
            found.push(Found::error(one, message, fix).about(&one.name).unless_certain(certain));
        }
    }
    found
}
