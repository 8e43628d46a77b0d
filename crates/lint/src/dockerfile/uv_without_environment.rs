//! uv has nowhere to install to.

use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "uv-without-environment",
    severity: Severity::Error,
    summary: "`uv pip install` has a virtual environment or uses --system",
    explain: include_str!("uv_without_environment.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM python:3.12-slim\nCOPY --from=ghcr.io/astral-sh/uv:0.8 /uv /bin/\nRUN uv pip install torch\n",
    )],
    silent: &[
        dockerfile("FROM python:3.12-slim\nRUN uv pip install --system torch\n"),
        dockerfile("FROM python:3.12-slim\nENV UV_SYSTEM_PYTHON=1\nRUN uv pip install torch\n"),
        dockerfile("FROM python:3.12-slim\nRUN uv venv && uv pip install torch\n"),
        dockerfile(
            "FROM python:3.12-slim\nRUN python -m venv /v\nENV VIRTUAL_ENV=/v\nRUN uv pip install torch\n",
        ),
        dockerfile("FROM example/base:1\nRUN uv pip install torch\n"),
        dockerfile("FROM python:3.12-slim\nWORKDIR /app\nCOPY . .\nRUN uv sync && uv pip install torch\n"),
        dockerfile(
            "FROM python:3.12-slim AS a\nRUN uv venv /v\nFROM python:3.12-slim\nCOPY --from=a /v /v\n\
             ENV VIRTUAL_ENV=/v\nRUN uv pip install torch\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let unassigned = file.installs().filter(|(_, run, install)| install.uv && nowhere(run, install));
    unassigned
        .take(1)
        .map(|(stage, run, install)| {
            // A context that is copied as a whole may have one in it.
            let copied = stage.instructions[..run.instruction].iter().any(|one| {
                matches!(one.keyword.as_str(), "COPY" | "ADD")
                    && one.text.text.trim_start().starts_with(['.', '*'])
            });
            let message = "`uv pip install` finds no virtual environment and fails (no --system, no \
                UV_SYSTEM_PYTHON)";
            Found::error(
                install.line,
                message,
                "Add `RUN uv venv` and set `ENV VIRTUAL_ENV`, or set `ENV \
                 UV_SYSTEM_PYTHON=1`",
            )
            .unless_certain(install.certain && !copied)
        })
        .collect()
}

fn nowhere(run: &Run, install: &Install) -> bool {
    let state = &run.state;
    let options = ["--system", "-p", "--python"];
    let variables =
        ["UV_SYSTEM_PYTHON", "UV_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT"];
    // What else was installed or copied may have made one.
    let clean = state.bare && !state.opaque && !state.more_packages && state.pythons.environments.is_empty();
    let explicit = options.iter().any(|name| install.option(name)) || install.elsewhere();
    clean && !explicit && !run.variables().any(|name| variables.contains(&name))
}
