//! A base image whose system, or whose Python, gets no more updates.

use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::images::Existence;

pub(crate) const RULE: Rule = Rule {
    id: "base-image-end-of-life",
    severity: Severity::Note,
    summary: "the OS of the base image, and the Python of a Python image, are still supported",
    explain: include_str!("base_image_end_of_life.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.1.1-devel-ubuntu20.04\n"),
        dockerfile("FROM ubuntu:18.04\n"),
        dockerfile("FROM python:3.9-slim-bookworm\n"),
    ],
    silent: &[
        dockerfile("FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nFROM python:3.12-slim-trixie\n"),
        dockerfile("ARG OS\nFROM nvidia/cuda:12.1.1-devel-$OS\nFROM example/ubuntu:18.04\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let From::Image(reference) = &stage.from else { return None };
    let Existence::Yes(image) = stage.end.catalog.images().exists(&reference.text) else { return None };
    let system = image.system.as_deref().and_then(|it| stage.end.catalog.systems().system(it));
    let over = |end: Option<&'static str>, checked: &str| end.filter(|end| *end < checked);
    let of_system = system.and_then(|row| Some((&row.name, over(row.end_of_life.as_deref(), &row.checked)?)));
    let python = image
        .python
        .as_deref()
        .filter(|_| image.repository == "python")
        .and_then(|it| stage.end.catalog.systems().python(it));
    let name = python.map(|row| format!("Python {}", row.python));
    let of_python =
        python.and_then(|row| Some((name.as_ref()?, over(row.end_of_life.as_deref(), &row.checked)?)));
    let (name, end) = of_system.or(of_python).filter(|_| reference.known)?;
    let message = format!("{}: standard support of {name} ended on {end}", image.reference());
    Some(Found::note(
        stage.line,
        message,
        "Use the same image on a newer OS release; `envdoc resolve` names \
         one",
    ))
}
