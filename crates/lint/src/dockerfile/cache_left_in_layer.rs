//! Downloads that stay in the image.

use std::collections::BTreeSet;

use crate::dockerfile::package_manager_missing::lacks_apt;
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "cache-left-in-layer",
    severity: Severity::Note,
    summary: "no image layer contains package caches of apt, pip or conda",
    explain: include_str!("cache_left_in_layer.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install torch\n"),
        dockerfile("FROM debian:12\nRUN apt-get update && apt-get install -y git\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install --no-cache-dir torch\n"),
        dockerfile("FROM python:3.12-slim\nENV PIP_NO_CACHE_DIR=1\nRUN pip install torch\n"),
        dockerfile(
            "FROM python:3.12-slim\nRUN --mount=type=cache,target=/root/.cache/pip pip install torch\n",
        ),
        dockerfile(
            "FROM debian:12\nRUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN pip install torch\nFROM python:3.12-slim\n\
             COPY --from=build /opt/venv /opt/venv\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch && pip cache purge\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let (mut pip, mut lists) = (None, None);
    for stage in file.shipped().into_iter().rev() {
        pip = pip.or_else(|| pip_cache(stage));
        lists = lists.or_else(|| apt_lists(stage).filter(|_| !lacks_apt(file, stage)));
    }
    [lists, pip].into_iter().flatten().collect()
}

fn pip_cache(stage: &Stage) -> Option<Found> {
    let cleaned = cleaned(stage, "cache");
    let left = stage.runs.iter().find_map(|run| {
        let install = run.install.as_ref().filter(|install| !install.uv)?;
        let off = install.option("--no-cache-dir")
            || run
                .variables()
                .any(|name| matches!(name, "PIP_NO_CACHE_DIR" | "PIP_CACHE_DIR" | "PIP_NO_CACHE"));
        let off =
            off || run.command.text().contains("--no-cache-dir") || run.state.indexes || run.state.opaque;
        (!off && !cleaned.contains(&run.instruction)).then_some(install.line)
    })?;
    let fix = "Add `--no-cache-dir` or `RUN --mount=type=cache,target=/root/.cache/pip`";
    Some(Found::note(left, "pip leaves its download cache in the layer", fix))
}

fn apt_lists(stage: &Stage) -> Option<Found> {
    let cleaned = cleaned(stage, "apt");
    let left = stage
        .runs
        .iter()
        .find(|run| apt::verb(&run.command, "update") && !cleaned.contains(&run.instruction))?;
    if left.state.opaque {
        return None;
    }
    Some(Found::note(
        left.command.line,
        "apt package lists stay in the layer",
        "Add `rm -rf /var/lib/apt/lists/*` to the same RUN",
    ))
}

/// The RUN instructions that mount something over a directory, or delete it.
fn cleaned(stage: &Stage, word: &str) -> BTreeSet<usize> {
    stage.instructions_with(|run| {
        let flags = stage.instructions.get(run.instruction).map_or(&[][..], |one| &one.flags);
        let mounted = flags
            .iter()
            .any(|flag| flag.starts_with("--mount") && flag.contains("type=cache") && flag.contains(word));
        let text = run.command.text();
        let removes = matches!(run.command.program(), "rm" | "find") || text.contains("cache purge");
        mounted || removes && (text.contains(word) || text.contains("purge"))
    })
}
