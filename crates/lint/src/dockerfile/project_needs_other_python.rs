//! A project that does not allow the Python of the image.

use pep440_rs::{Version, VersionSpecifiers};

use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "project-needs-other-python",
    severity: Severity::Error,
    summary: "the image has a Python that requires-python of the project allows",
    explain: include_str!("project_needs_other_python.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[with(
        "FROM python:3.9-slim\nWORKDIR /app\nCOPY . .\nRUN pip install .\n",
        &[("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.10\"\n")],
    )],
    silent: &[
        with(
            "FROM python:3.11-slim\nWORKDIR /app\nCOPY . .\nRUN pip install .\n",
            &[("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.10\"\n")],
        ),
        with(
            "FROM python:3.9-slim\nWORKDIR /app\nCOPY . .\nRUN pip install -r requirements.txt\n",
            &[("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.10\"\n")],
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.runs().filter_map(|(_, run)| fault(file, run)).take(1).collect()
}

fn fault(file: &Dockerfile, run: &Run) -> Option<Found> {
    let install = run.install.as_ref().filter(|_| installs_project(run))?;
    let series = install.python.series.as_deref()?;
    let (_, text) = file.text_at(&run.state, "pyproject.toml")?;
    let table: toml::Table = text.parse().ok()?;
    let wanted = table.get("project")?.get("requires-python")?.as_str()?;
    let allowed: VersionSpecifiers = wanted.parse().ok()?;
    let releases = (0..40).filter_map(|patch| format!("{series}.{patch}").parse::<Version>().ok());
    if releases.into_iter().any(|release| allowed.contains(&release)) {
        return None;
    }
    let message = format!(
        "pyproject.toml has requires-python {wanted:?}, but this is Python {series}; `requires a \
         different Python`"
    );
    let fix = "Use a base image with an allowed Python, or change requires-python";
    Some(Found::error(install.line, message, fix).unless_certain(install.certain))
}

/// Whether a command installs the project of the working directory: `pip install .`, `-e .`, `".[dev]"`.
pub(crate) fn installs_project(run: &Run) -> bool {
    let words = run.command.words.iter().map(|word| word.text.as_str());
    run.install.is_some()
        && words.into_iter().any(|word| matches!(word, "." | "./" | "-e.") || word.starts_with(".["))
}
