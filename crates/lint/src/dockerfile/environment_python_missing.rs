//! A virtual environment without the Python that it was made with.

use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "environment-python-missing",
    severity: Severity::Error,
    summary: "a copied virtual environment finds its Python in the new image",
    explain: include_str!("environment_python_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11-slim AS build\nRUN python -m venv /opt/venv\n\
             FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3\n\
             COPY --from=build /opt/venv /opt/venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nRUN python -m venv /app/.venv\nFROM debian:12\nCOPY --from=build \
             /app /app\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nRUN python -m venv /venv\nFROM python:3.11-slim\nCOPY --from=build \
             /venv /venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nRUN python -m venv /venv\nFROM python:3.12\nCOPY --from=build \
             /venv /opt/venv\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12 AS build\nRUN python -m venv /venv\nFROM python:3.12-slim\nCOPY --from=build \
             /venv /venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nRUN python -m venv /venv\nFROM debian:12\nCOPY --from=build \
             /usr/local /usr/local\n\
             COPY --from=build /venv /venv\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS build\nRUN apt-get update && apt-get install -y python3-venv && python3 \
             -m venv /venv\n\
             FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3\n\
                 COPY --from=build /venv /venv\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (index, stage) in file.stages.iter().enumerate() {
        for one in stage.instructions.iter().filter(|one| one.keyword == "COPY") {
            let Some(from) = one.flag("from") else { continue };
            let named = |other: &Stage| other.name.as_deref() == Some(from.to_ascii_lowercase().as_str());
            let number = from.parse().ok().filter(|number| *number < index);
            let Some(made) = file.stages[..index].iter().position(named).or(number) else { continue };
            let words: Vec<&str> = match &one.json {
                Some(words) => words.iter().map(String::as_str).collect(),
                None => one.text.text.split_whitespace().collect(),
            };
            let [source, target] = words[..] else { continue };
            found.extend(fault(&file.stages[made], stage, source, target).map(|message| {
                let fix =
                    "Use the same Python image for both stages, or make the environment in the last stage";
                Found::error(one.line, message, fix)
            }));
        }
    }
    found
}

/// Why an environment that is copied does not work.
fn fault(made: &Stage, stage: &Stage, source: &str, target: &str) -> Option<String> {
    let clean = |path: &str| path.trim_end_matches('/').to_owned();
    let (source, target) = (clean(source), clean(target));
    let copied = made.end.pythons.environments.iter().filter_map(|(path, _)| {
        let rest =
            path.strip_prefix(source.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some((path.clone(), format!("{target}{rest}")))
    });
    let (path, place) = copied.into_iter().next()?;
    if path != place && place.starts_with('/') {
        return Some(format!(
            "the virtual environment {path} is copied to {place}; its programs still name {path}/bin/python"
        ));
    }
    without_python(made, stage, &path)
}

/// Whether the Python of an official image, /usr/local/bin/python3.11, is not in the stage of the copy.
fn without_python(made: &Stage, stage: &Stage, path: &str) -> Option<String> {
    let image = made.end.image.filter(|image| image.repository == "python")?;
    let series = image.python.as_deref()?;
    let made_by = made.runs.iter().find(|run| run.command.text().contains("venv"))?;
    let own =
        made_by.state.pythons.default.kind == Kind::Image && !made_by.command.text().contains("--python");
    let uv = made_by.command.program() == "uv";
    let local = stage.instructions.iter().any(|one| {
        one.flag("from").is_some()
            && one
                .text
                .text
                .split_whitespace()
                .next_back()
                .is_some_and(|target| target.starts_with("/usr") || target == "/")
    });
    let base = match &stage.from {
        From::Image(image) if image.known => image.text.as_str(),
        _ => return None,
    };
    let here = stage
        .end
        .image
        .filter(|image| image.repository == "python")
        .and_then(|image| image.python.as_deref());
    let plain =
        here.is_some() || ["nvidia/cuda:", "ubuntu:", "debian:"].iter().any(|start| base.starts_with(start));
    if !own || uv || local || !plain || stage.end.opaque || here == Some(series) {
        return None;
    }
    Some(format!(
        "{path} was made with /usr/local/bin/python{series}, which {base} does not have; its python is a \
         broken link"
    ))
}
