//! The environment of uv, poetry or pipenv, and a container that uses another Python.

use crate::programs;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::read::entry_scripts::entry_scripts;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "project-environment-unused",
    severity: Severity::Warning,
    summary: "the container uses the environment into which the project is installed",
    explain: include_str!("project_environment_unused.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12-slim\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/uv\nWORKDIR /app\nCOPY \
             pyproject.toml uv.lock ./\nRUN uv sync --frozen\nCOPY . .\nCMD [\"python\", \"serve.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install poetry==1.8.3\nWORKDIR /app\nCOPY pyproject.toml \
             poetry.lock ./\nRUN poetry install --only main\nCMD [\"uvicorn\", \"app:app\", \"--host\", \
             \"0.0.0.0\"]\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install pipenv\nCOPY Pipfile Pipfile.lock ./\nRUN pipenv install \
             --deploy\nCMD python main.py\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY pyproject.toml uv.lock ./\nRUN pip install uv && uv \
             sync --frozen\nENV PATH=\"/app/.venv/bin:$PATH\"\nCMD [\"python\", \"serve.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY pyproject.toml uv.lock ./\nRUN pip install uv && uv \
             sync --frozen\nCMD [\"uv\", \"run\", \"python\", \"serve.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install poetry==1.8.3 && poetry config virtualenvs.create false\n\
             COPY pyproject.toml ./\nRUN poetry install\nCMD [\"python\", \"main.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV UV_PROJECT_ENVIRONMENT=/usr/local\nCOPY pyproject.toml uv.lock ./\n\
             RUN pip install uv && uv sync\nCMD [\"python\", \"serve.py\"]\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped = file.shipped();
    let runs = shipped.iter().flat_map(|stage| &stage.runs);
    let Some((tool, run)) = runs.into_iter().find_map(|run| Some((tool(run)?, run))) else {
        return Vec::new();
    };
    let instructions = shipped.iter().flat_map(|stage| &stage.instructions);
    let words = [
        "venv",
        "VIRTUAL_ENV",
        "UV_PROJECT_ENVIRONMENT",
        "virtualenvs",
        "VIRTUALENVS",
        "PIPENV_SYSTEM",
        "export",
    ];
    let handled = instructions.into_iter().any(|one| words.iter().any(|word| one.text.text.contains(word)));
    let commands = started(file);
    let Some(first) = commands.first().filter(|_| !handled && !run.state.opaque) else { return Vec::new() };
    let own = |word: &str| {
        programs::is_python(word)
            || programs::is_server(word)
            || matches!(word, "torchrun" | "accelerate" | "celery" | "fastapi" | "streamlit")
    };
    let word = first.words.first().map_or("", |word| word.text.as_str());
    let quoted = file.stages.last().is_some_and(|stage| {
        stage
            .instructions
            .iter()
            .any(|one| matches!(one.keyword.as_str(), "CMD" | "ENTRYPOINT") && one.text.text.contains("venv"))
    });
    if !own(word) || quoted || !entry_scripts(file).is_empty() {
        return Vec::new();
    }
    let message = format!(
        "{tool} (line {}) installs into a virtual environment of the project, but the container starts \
         `{word}` \
         of the image, which has none of its packages",
        run.command.line
    );
    let fix = match tool {
        "uv sync" => {
            "Set `ENV PATH=\"/app/.venv/bin:$PATH\"` with the project's directory, or start `uv run \
             --no-sync …`"
        }
        "poetry install" => "Start `poetry run …`, or set `POETRY_VIRTUALENVS_CREATE=false` before it",
        _ => "Start `pipenv run …`, or add --system",
    };
    vec![Found::warning(first.line, message, fix)]
}

/// The command that installs a project into an environment of its own.
fn tool(run: &Run) -> Option<&'static str> {
    let command = &run.command;
    let own = |name: &str| run.variable(name).is_some();
    match (command.program(), command.word(1)) {
        ("uv", "sync") if !own("UV_PROJECT_ENVIRONMENT") && !command.has("--active") => Some("uv sync"),
        ("poetry", "install") if !own("POETRY_VIRTUALENVS_CREATE") => Some("poetry install"),
        ("pipenv", "install" | "sync") if !command.has("--system") => Some("pipenv install"),
        _ => None,
    }
}
