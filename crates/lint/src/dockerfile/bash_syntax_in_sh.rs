//! A RUN of /bin/sh that only bash understands.

use crate::base::is_debian_with_conda;
use crate::read::dockerfile::expand::Variables;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::setup::setups;
use crate::read::dockerfile::shell;
use crate::read::dockerfile::text::Text;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::read::posix::{BashOnly, bash_only};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "bash-syntax-in-sh",
    severity: Severity::Error,
    summary: "commands that need bash run in bash",
    explain: include_str!("bash_syntax_in_sh.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:22.04\nRUN source /etc/profile && make\n"),
        dockerfile("FROM python:3.12-slim\nRUN if [[ -f x ]]; then make; fi\n"),
        dockerfile("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN set -euo pipefail; cat x | tar x\n"),
        dockerfile("FROM debian:12\nRUN <<EOF\nset -e\nFILES=(a b)\nEOF\n"),
        dockerfile("FROM debian:13\nRUN set -o pipefail; [[ -f x ]]\n"),
        dockerfile("FROM debian:12\nRUN mkdir -p /data/{train,eval}/{1..4}\n"),
        dockerfile(
            "FROM condaforge/miniforge3:24.9.2-0\nRUN conda create -n train python=3.11\nRUN source \
             /opt/conda/etc/profile.d/conda.sh && conda activate train && pip install torch\n",
        ),
        dockerfile(
            "FROM continuumio/miniconda3\nRUN if [[ -f environment.yml ]]; then conda env update; fi\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM condaforge/miniforge3:24.9.2-0\nSHELL [\"/bin/bash\", \"-c\"]\nRUN source \
             /opt/conda/etc/profile.d/conda.sh && conda activate base\n",
        ),
        // Its dash may know pipefail.
        dockerfile("FROM continuumio/miniconda3:25.3.1-1\nRUN set -o pipefail; cat x | tar x\n"),
        dockerfile("FROM continuumio/miniconda3:24.1.2-0-alpine\nRUN source /x\n"),
        dockerfile("FROM mambaorg/micromamba:2.0\nRUN source /x\n"),
        dockerfile(
            "FROM ubuntu:22.04\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\nRUN source /x && [[ \
             -f y ]]\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN bash -c 'source /x' && . /y\n"),
        dockerfile("FROM debian:13\nRUN set -eo pipefail; cat x | tar x\n"),
        dockerfile("FROM example/base:1\nRUN source /x\n"),
        dockerfile("FROM rockylinux:9\nRUN source /x\n"),
        dockerfile("FROM ubuntu:22.04\nRUN ln -sf /bin/bash /bin/sh\nRUN source /x\n"),
        dockerfile("FROM ubuntu:22.04\nRUN bash <<EOF\nsource /x\nEOF\n"),
        dockerfile("FROM ubuntu:22.04\nRUN <<EOF\n#!/bin/bash\nsource /x\nEOF\n"),
        dockerfile("FROM ubuntu:22.04\nRUN <<EOF bash\nset -o pipefail\nsource /x\nEOF\n"),
        dockerfile("FROM python:3.12-slim\nRUN <<EOF python3\ndeclare = [1]\nlet = (2)\nEOF\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let mut found = Vec::new();
    for (stage, setups) in file.stages.iter().zip(&setups) {
        if !is_dash(file, stage) {
            continue;
        }
        // Of an image whose release is not known, dash may be new.
        let new_dash = stage.end.system.is_none_or(|system| NEW_DASH.contains(&system.id.as_str()));
        for (one, setup) in stage.instructions.iter().zip(setups) {
            let starts = matches!(one.keyword.as_str(), "RUN" | "CMD" | "ENTRYPOINT");
            if !starts || one.json.is_some() || !setup.shell.is_empty() {
                continue;
            }
            let bare = one.text.text.trim_start().starts_with("<<") && !is_handed_on(one);
            let documents = one.heredocs.iter().filter(|_| bare && one.keyword == "RUN").map(|it| &it.text);
            let texts =
                std::iter::once(&one.text).chain(documents.filter(|text| !text.text.starts_with("#!")));
            found.extend(texts.flat_map(|text| first(text, new_dash)).take(1));
        }
    }
    found
}

/// Whether another program reads the here-document: `RUN <<EOF bash`, `RUN <<EOF python3`.
fn is_handed_on(one: &Instruction) -> bool {
    let commands = shell::commands(&one.text, &Variables::default());
    commands.first().is_some_and(|command| !command.words.is_empty())
}

fn first(text: &Text, new_dash: bool) -> Option<Found> {
    let mut uses = bash_only(text);
    uses.retain(|one| !(new_dash && one.in_new_dash));
    let BashOnly { line, what, effect, fails, .. } = uses.iter().find(|one| one.fails).or(uses.first())?;
    let message = match fails {
        true => format!("{what} needs bash, but RUN uses /bin/sh, which is dash here: {effect}"),
        false => format!("{what} needs bash; in dash, the /bin/sh of this image, {effect}"),
    };
    let fix = "Add `SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]` above it";
    let found = Found::error(*line, message, fix);
    Some(found.unless_certain(*fails))
}

/// Systems whose dash has pipefail (0.5.12-7).
const NEW_DASH: &[&str] = &["debian13"];

/// Whether /bin/sh of a stage is certainly dash.
fn is_dash(file: &Dockerfile, stage: &Stage) -> bool {
    const DASH: &[&str] = &[
        "ubuntu18.04",
        "ubuntu20.04",
        "ubuntu22.04",
        "ubuntu24.04",
        "debian10",
        "debian11",
        "debian12",
        "debian13",
    ];
    let system = match stage.end.system {
        Some(system) => DASH.contains(&system.id.as_str()),
        None => file.base(stage).is_some_and(|base| base.known && is_debian_with_conda(&base.text)),
    };
    let relinked = stage.runs.iter().any(|run| {
        let text = run.command.text();
        text.contains("/bin/sh")
            && matches!(run.command.program(), "ln" | "mv" | "cp" | "update-alternatives")
            || text.contains("reconfigure") && text.contains("dash")
    });
    system && !relinked
}
