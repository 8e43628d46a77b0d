//! A virtual environment without the Python that it was made with.

use std::collections::BTreeMap;

use crate::base::Base;
use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::stage::unquoted;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::uv_environments::{UvEnvironment, environments};

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
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS builder\nWORKDIR /app\nRUN uv python install 3.12\n\
             COPY . .\nRUN uv sync --frozen --no-dev --python 3.12\nFROM \
             nvidia/cuda:12.4.1-runtime-ubuntu22.04\n\
             COPY --from=builder /app/.venv /app/.venv\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS builder\nENV UV_PYTHON_INSTALL_DIR=/opt/python\nRUN uv venv --python 3.11 \
             /opt/venv\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=builder /opt/venv /opt/venv\n",
        ),
        dockerfile(
            "FROM debian:12 AS base\nENV UV_PYTHON_PREFERENCE=only-managed\nFROM base AS build\nWORKDIR \
             /srv\n\
             RUN uv sync --locked\nFROM debian:12\nCOPY --from=build /srv /srv\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN apt-get update && apt-get install -y \
             python3-venv\nRUN python3 -m venv /srv/env && /srv/env/bin/pip install torch==2.4.0\nFROM \
             python:3.12-slim-bookworm\nCOPY --from=build /srv/env /srv/env\n",
        ),
        dockerfile(
            "FROM debian:12 AS build\nRUN apt-get update && apt-get install -y python3 virtualenv && \
             virtualenv /venv\nFROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3\nCOPY \
             --from=build /venv \
             /venv\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS build\nRUN apt-get update && apt-get install -y python3-venv\nRUN python3 \
             -m venv /opt/app\nFROM ubuntu:24.04\nCOPY --from=build /opt/app /opt/app\n",
        ),
    ],
    silent: &[
        // The Python of the same series, in /usr/local and in /usr.
        dockerfile(
            "FROM ubuntu:22.04 AS build\nRUN apt-get update && apt-get install -y python3-venv && python3 \
             -m venv /venv\nFROM ubuntu:24.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install \
             -y python3.10\nCOPY --from=build /venv /venv\n",
        ),
        dockerfile(
            "FROM debian:12 AS build\nRUN apt-get update && apt-get install -y python3-venv && python3 -m \
             venv /venv\nFROM python:3.11-slim-bookworm\nRUN apt-get update && apt-get install -y gdb\nCOPY \
             --from=build /venv /venv\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS build\nENV UV_PYTHON_INSTALL_DIR=/opt/python \
             UV_PROJECT_ENVIRONMENT=/opt/venv\nRUN uv python install 3.12\nRUN uv sync --frozen\nFROM \
             nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=build /opt/python /opt/python\nCOPY \
             --from=build /opt/venv /opt/venv\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nENV UV_PYTHON_DOWNLOADS=0\nWORKDIR /app\nRUN uv sync --locked\n\
             FROM python:3.12-slim\nCOPY --from=build /app/.venv /app/.venv\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS build\nWORKDIR /app\nRUN uv python install 3.12\nRUN uv sync\nFROM \
             ubuntu:22.04\nCOPY --from=build /app /app\nCOPY --from=build /root/.local /root/.local\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS build\nWORKDIR /app\nRUN uv python install 3.12 && uv sync\nFROM \
             ubuntu:22.04\nCOPY --from=ghcr.io/astral-sh/uv:0.5.9 /uv /bin/\nCOPY --from=build /app \
             /app\nRUN uv \
             python install 3.12\n",
        ),
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
            "FROM python:3.12 AS build\nRUN python -m venv /venv\nFROM debian:12\nCOPY --from=build \
             [\"/usr/local\", \"/usr/local\"]\nCOPY --from=build /venv /venv\n",
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
    // Of each stage by its line, made when it is first asked for.
    let mut known: BTreeMap<usize, Vec<UvEnvironment>> = BTreeMap::new();
    for stage in &file.stages {
        for one in stage.instructions.iter().filter(|one| one.keyword == "COPY") {
            let Some(made) = file.stage_of(one) else { continue };
            let words = one.words();
            let [source, target] = words[..] else { continue };
            let of_image = fault(made, stage, source, target).map(|message| {
                let fix =
                    "Use the same Python image for both stages, or make the environment in the last stage";
                Found::error(one.line, message, fix)
            });
            let of_uv = || {
                let all = known.entry(made.line).or_insert_with(|| environments(file, made));
                let environment = all.iter().find(|one| is_below(&one.path, source))?;
                let (message, fix) =
                    without_managed_python(file, (made, stage), environment, (source, target))?;
                Some(Found::error(one.line, message, fix))
            };
            found.extend(of_image.or_else(of_uv));
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
    without_python(made, stage, &path).or_else(|| without_system_python(made, stage, &path))
}

/// Message and fix for an environment of uv that is copied without the Python which uv installed for it.
fn without_managed_python(
    file: &Dockerfile,
    (made, stage): (&Stage, &Stage),
    environment: &UvEnvironment,
    (source, target): (&str, &str),
) -> Option<(String, String)> {
    let directory = environment.managed_in.as_deref()?;
    let stages = file.lineage(stage);
    let goes_on = stages.iter().any(|one| std::ptr::eq(*one, made));
    // The Python is below the copied directory, or uv runs again.
    let again = stages.iter().any(|one| one.runs.iter().any(|run| run.command.program() == "uv"));
    let with_it = is_below(directory, source) && source.trim_end_matches('/') == target.trim_end_matches('/');
    if goes_on || again || with_it || brings(&stages, directory) || !copies_only(&stages) {
        return None;
    }
    let message = format!(
        "{} uses the Python that uv installed in {directory}, and no COPY brings that directory into this \
         stage; its `python` is a dangling symlink",
        environment.path
    );
    let fix = match directory.starts_with("/root/") {
        true => format!(
            "Set `ENV UV_PYTHON_INSTALL_DIR=/opt/python` in the builder and add `COPY --from={} /opt/python \
             /opt/python`",
            made.name.as_deref().unwrap_or("builder")
        ),
        false => format!("Copy {directory} to the same path"),
    };
    Some((message, fix))
}

/// Whether a COPY from another stage or image may bring a directory into one of these stages.
fn brings(stages: &[&Stage], directory: &str) -> bool {
    let copies = stages.iter().flat_map(|stage| &stage.instructions);
    copies.filter(|one| one.flag("from").is_some()).any(|one| {
        let words: Vec<String> = one.words().into_iter().map(unquoted).collect();
        let sources = words.split_last().map_or(&[][..], |(_, sources)| sources);
        sources.iter().any(|source| source.contains('$') || is_below(directory, source))
    })
}

/// Whether no RUN of these stages mounts another stage.
fn copies_only(stages: &[&Stage]) -> bool {
    let mut runs = stages.iter().flat_map(|stage| &stage.instructions).filter(|one| one.keyword == "RUN");
    !runs.any(|one| one.flags.iter().any(|flag| flag.contains("from=")))
}

/// The image that a stage begins with, where it is one whose Python is known: none, or that in /usr/local.
fn plain_base(stage: &Stage) -> Option<&str> {
    let From::Image(image) = &stage.from else { return None };
    let base = Base::of(&image.text).filter(|_| image.known)?;
    (base.lacks_python() || base == Base::Python).then_some(image.text.as_str())
}

/// Whether something is copied from another stage or image to where the system has its programs.
fn gets_programs(stage: &Stage) -> bool {
    stage
        .instructions
        .iter()
        .filter(|one| one.flag("from").is_some())
        .any(|one| one.words().last().is_some_and(|target| target.starts_with("/usr") || *target == "/"))
}

/// Whether the Python of the distribution, /usr/bin/python3, is another one in the stage of the copy, or
/// missing.
fn without_system_python(made: &Stage, stage: &Stage, path: &str) -> Option<String> {
    let base = plain_base(stage)?;
    let system = stage.end.system?;
    let (_, interpreter) = made.end.pythons.environments.iter().find(|(known, _)| known == path)?;
    let series = interpreter.series.as_deref()?;
    let made_by = made.runs.iter().find(|run| {
        run.command.words.iter().any(|word| word.text.contains("venv"))
            && run.command.words.iter().any(|word| word.text.trim_end_matches('/') == path)
    })?;
    let text = made_by.command.text();
    let options = ["--python", " -p", "--copies", "--relocatable"].iter().any(|word| text.contains(word));
    let program = made_by.command.word(0);
    let by_system = match program {
        "virtualenv" => made_by.state.pythons.default.kind == Kind::System,
        _ => made_by.state.pythons.of_python(program).is_some_and(|one| one.kind == Kind::System),
    };
    // What another Python of the same series may bring.
    let named = format!("python{series}");
    let brings = stage.runs.iter().any(|run| run.command.text().contains(&named));
    if !by_system || options || brings || gets_programs(stage) || stage.end.opaque || stage.end.deadsnakes {
        return None;
    }
    let own = system.python.as_deref()?;
    let made_with = format!("{path} was created with /usr/bin/python3 of the distribution (Python {series})");
    if own != series {
        return Some(format!(
            "{made_with}, but {} has Python {own}: in {base} its `python` is a dangling symlink, or ignores \
             lib/{named}",
            system.name
        ));
    }
    // Packages may bring the system's Python along.
    let installs = stage.runs.iter().any(|run| !apt::packages(run.state.catalog, &run.command).is_empty());
    let named = stage.runs.iter().any(|run| run.command.text().contains("python"));
    let absent = Base::of(base).is_some_and(Base::lacks_python);
    (absent && !installs && !named)
        .then(|| format!("{made_with}, but {base} has no Python: its `python` is a dangling symlink"))
}

/// Whether the Python of an official image, /usr/local/bin/python3.11, is not in the stage of the copy.
fn without_python(made: &Stage, stage: &Stage, path: &str) -> Option<String> {
    let image = made.end.image.filter(|image| image.repository == "python")?;
    let series = image.python.as_deref()?;
    let made_by = made.runs.iter().find(|run| run.command.text().contains("venv"))?;
    let own =
        made_by.state.pythons.default.kind == Kind::Image && !made_by.command.text().contains("--python");
    let uv = made_by.command.program() == "uv";
    let base = match &stage.from {
        From::Image(image) if image.known => image.text.as_str(),
        _ => return None,
    };
    let here = stage
        .end
        .image
        .filter(|image| image.repository == "python")
        .and_then(|image| image.python.as_deref());
    let plain = here.is_some() || Base::of(base).is_some_and(Base::lacks_python);
    if !own || uv || gets_programs(stage) || !plain || stage.end.opaque || here == Some(series) {
        return None;
    }
    Some(format!(
        "{path} was created with /usr/local/bin/python{series}, which {base} does not have; its `python` \
         is a dangling symlink"
    ))
}
