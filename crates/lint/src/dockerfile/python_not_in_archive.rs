//! A Python that the distribution does not have.

use crate::read::dockerfile::command::Word;
use crate::read::dockerfile::python::is_series;
use crate::read::dockerfile::{Dockerfile, Run, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "python-not-in-archive",
    severity: Severity::Error,
    summary: "the APT repositories of the base image have the requested Python",
    explain: include_str!("python_not_in_archive.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3.12 python3.12-dev\n",
        ),
        dockerfile("FROM debian:12\nRUN apt-get update && apt-get install -y python3.10-venv\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y \
             python3.13-distutils\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.11\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3.12 python3.12-venv\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12\n",
        ),
        dockerfile("FROM example/unknown:1\nRUN apt-get update && apt-get install -y python3.12\n"),
        dockerfile("FROM ubuntu:22.04\nRUN ./archives.sh && apt-get install -y python3.12\n"),
        dockerfile(
            "FROM ubuntu:22.04\nCOPY sources.list /etc/apt/sources.list\n\
             RUN apt-get update && apt-get install -y python3.12\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (_, run) in file.runs() {
        let mut series: Vec<&str> = Vec::new();
        for word in apt::packages(file.catalog, &run.command) {
            let Some((one, part)) = python(word) else { continue };
            if let Some(finding) = missing(run, word, one, part)
                && !series.contains(&one)
            {
                series.push(one);
                found.push(finding);
            }
        }
    }
    found
}

/// Series and part of a package of a Python: `3.12` and `-dev`.
fn python(word: &Word) -> Option<(&str, &str)> {
    let name = apt::name(word).strip_prefix("python").filter(|_| word.known)?;
    let end = name.find('-').unwrap_or(name.len());
    let (series, part) = name.split_at(end);
    is_series(series).then_some((series, part))
}

fn missing(run: &Run, word: &Word, series: &str, part: &str) -> Option<Found> {
    let system = run.state.system.filter(|_| !run.state.archives)?;
    let certain = run.command.certain && !word.default;
    let minor: u32 = series.strip_prefix("3.")?.parse().ok()?;
    if part == "-distutils" && minor >= 12 {
        let message =
            format!("package python{series}-distutils does not exist; Python 3.12 removed distutils");
        return Some(
            Found::error(word.line, message, "Install setuptools with pip if distutils is needed")
                .about(&word.text)
                .unless_certain(certain),
        );
    }
    let source = run.state.catalog.systems().python_source(&system.id, series)?;
    if source.distribution != Some(false) {
        return None;
    }
    let own = system.python.as_deref().unwrap_or("another one");
    if run.state.deadsnakes {
        if source.deadsnakes != Some(false) {
            return None;
        }
        let message = format!("the deadsnakes PPA has no Python {series} for {}; apt-get fails", system.name);
        return Some(
            Found::error(word.line, message, fix(series, source.deadsnakes, &system.name))
                .about(&word.text)
                .unless_certain(certain),
        );
    }
    if source.pre_release {
        let note = source.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
        let message = format!("{} has only a pre-release of Python {series}{note}", system.name);
        let fix = fix(series, source.deadsnakes, &system.name);
        return Some(Found::warning(word.line, message, fix).about(&word.text));
    }
    let message = format!(
        "{} has no package python{series}{part}; its Python is {own}, so apt-get \
         fails",
        system.name
    );
    Some(
        Found::error(word.line, message, fix(series, source.deadsnakes, &system.name))
            .about(&word.text)
            .unless_certain(certain),
    )
}

fn fix(series: &str, deadsnakes: Option<bool>, system: &str) -> String {
    let uv = format!("Use `uv python install {series}` or `FROM python:{series}`");
    match deadsnakes {
        Some(true) => format!("{uv}, or add the deadsnakes PPA, which has it for {system}"),
        _ => uv,
    }
}
