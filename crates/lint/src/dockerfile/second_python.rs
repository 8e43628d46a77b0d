//! apt's pip in a base image with its own Python.

use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "second-python",
    severity: Severity::Warning,
    summary: "apt does not install a second Python next to the one of the base image",
    explain: include_str!("second_python.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-devel\n\
             RUN apt-get update && apt-get install -y git python3-pip\nRUN pip install deepspeed\n",
        ),
        dockerfile("FROM python:3.12\nRUN apt-get update && apt-get install -y python3-pip python3-dev\n"),
        dockerfile("FROM python:3.12\nRUN apt-get update && apt-get install -y python3-dev\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip\n"),
        dockerfile(
            "FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-devel\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN /usr/bin/python3 -m pip install x\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.12.0-cuda13.0-cudnn9-runtime\n\
             RUN apt-get update && apt-get install -y python3-venv\n",
        ),
        dockerfile("FROM python:3.12\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("FROM example/conda:1\nRUN apt-get update && apt-get install -y python3-pip\n"),
    ],
};

/// What brings a pip, and what else belongs to a Python.
const PACKAGES: &[&str] = &["python3-pip", "python3-venv", "python3-dev", "python3-full"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let meant = |text: &str| text.contains("/usr/bin/p") || text.contains("update-alternatives");
    if stage
        .instructions
        .iter()
        .any(|one| meant(&one.text.text) || one.heredocs.iter().any(|h| meant(&h.text.text)))
    {
        return None;
    }
    let found = stage.runs.iter().filter(|run| run.command.certain).filter_map(|run| {
        let own = &run.state.pythons.default;
        let word = apt::packages(run.state.catalog, &run.command)
            .into_iter()
            .filter(|word| word.known && PACKAGES.contains(&apt::name(word)))
            .min_by_key(|word| apt::name(word) != "python3-pip")?;
        let name = apt::name(word);
        let other = match run.state.system.and_then(|system| system.python.as_deref()) {
            Some(series) => format!("the distribution's Python {series}"),
            None => "the distribution's Python".to_owned(),
        };
        let message = format!(
            "{name} installs {other} as a second Python; `pip` and `python` still run \
             {}",
            own.message()
        );
        let fix = format!("Remove {name}");
        matches!(own.kind, Kind::Conda | Kind::Image).then(|| match name {
            "python3-pip" => Found::warning(word.line, message, fix).about(name),
            _ => Found::note(word.line, message, fix).about(name),
        })
    });
    found.min_by_key(|one| std::cmp::Reverse(one.severity))
}
