//! `python3 -m venv` without the package of the distribution that it needs.

use crate::base::Base;
use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "venv-module-missing",
    severity: Severity::Error,
    summary: "images of Debian and Ubuntu that make environments have python3-venv",
    explain: include_str!("venv_module_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\nRUN python3 \
             -m venv \
             /opt/venv\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.6.3-devel-ubuntu24.04\nRUN apt-get update && apt-get install -y \
             python3-dev git && \
             python3 -m venv --system-site-packages /v\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-venv\nRUN python3 \
             -m venv \
             /opt/venv\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip && pip install \
             virtualenv && \
             python3 -m venv --without-pip /v\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN python3 -m venv /opt/venv\n"),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 $PACKAGES\nRUN python3 -m \
             venv /v\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS a\nRUN apt-get update && apt-get install -y python3-full\nFROM a\nRUN \
             python3 -m \
             venv /v\n",
        ),
    ],
};

/// More packages than this may bring it along.
const MANY: usize = 25;

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(|stage| of_stage(file, stage)).collect()
}

fn of_stage(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    let image = file.base(stage)?;
    let bare = Base::of(&image.text).is_some_and(Base::lacks_python);
    if !bare || !image.known {
        return None;
    }
    let making = stage.runs.iter().find(|run| {
        let command = &run.command;
        let plain = command.words.first().is_some_and(|word| word.known && word.text == "python3");
        plain && command.word(1) == "-m" && command.word(2) == "venv" && !command.has("--without-pip")
    })?;
    let system = making.state.pythons.default.kind == Kind::System && !making.state.opaque;
    let debian = making.state.system.is_some_and(|system| system.family.has_apt());
    let packages: Vec<_> = file
        .lineage(stage)
        .into_iter()
        .flat_map(|stage| &stage.runs)
        .flat_map(|run| apt::packages(run.state.catalog, &run.command))
        .collect();
    let brings = packages.iter().any(|word| {
        let name = apt::name(word);
        let own = name.ends_with("-venv") || name.ends_with("-full") || name.contains("virtualenv");
        own || !word.known || word.text.ends_with(".deb") || name == "pipx"
    });
    if !system || !debian || brings || packages.len() > MANY || !making.command.certain {
        return None;
    }
    let message = "`python3 -m venv` needs the package python3-venv, which is not installed: `ensurepip is \
     not available`";
    Some(Found::error(making.command.line, message, "Install python3-venv with apt-get before it"))
}
