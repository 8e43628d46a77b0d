//! Virtual environments that uv makes in a stage, and the Python that they use.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::python::Kind;
use crate::read::dockerfile::{Dockerfile, Run, Stage};

/// A virtual environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UvEnvironment {
    /// Its directory.
    pub path: String,
    /// The directory of the Pythons that uv installs, where the environment uses one of them.
    pub managed_in: Option<String>,
}

/// The environments that uv makes in a stage and those that it goes on from.
pub(crate) fn environments(file: &Dockerfile, stage: &Stage) -> Vec<UvEnvironment> {
    let runs: Vec<&Run> = file.lineage(stage).into_iter().rev().flat_map(|stage| &stage.runs).collect();
    let (mut found, mut installed): (Vec<UvEnvironment>, Option<String>) = (Vec::new(), None);
    for run in runs.into_iter().filter(|run| run.command.program() == "uv" && run.command.certain) {
        let command = &run.command;
        if command.word(1) == "python" && command.word(2) == "install" {
            let elsewhere = ["--install-dir", "-i"].iter().any(|option| command.has(option));
            installed = directory(run).filter(|_| !elsewhere);
            continue;
        }
        let Some(path) = made(run) else { continue };
        let managed_in = if uses_managed(run, installed.is_some()) { directory(run) } else { None };
        // `uv sync` keeps the environment that is there.
        if found.iter().all(|one| one.path != path) {
            found.push(UvEnvironment { path, managed_in });
        }
    }
    found
}

/// The directory of the environment that a command makes.
fn made(run: &Run) -> Option<String> {
    let command = &run.command;
    let elsewhere = ["--project", "--directory", "--active", "--script"].iter().any(|one| command.has(one));
    let path = match command.word(1) {
        _ if elsewhere => return None,
        "sync" => match run.variable("UV_PROJECT_ENVIRONMENT") {
            Some(value) => value.text?,
            None => ".venv".to_owned(),
        },
        "venv" => argument(command)?.unwrap_or_else(|| ".venv".to_owned()),
        _ => return None,
    };
    Some(join(&run.state.files.workdir, &path)).filter(|path| path.starts_with('/'))
}

/// The path behind `uv venv`; nothing where it is not known.
fn argument(command: &Command) -> Option<Option<String>> {
    const VALUED: &[&str] = &["--python", "-p", "--prompt", "--index-url", "--default-index", "--index"];
    let mut words = command.words[2..].iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.text.as_str()) {
            words.next();
        } else if !word.text.starts_with('-') {
            return word.known.then(|| Some(word.text.clone()));
        }
    }
    Some(None)
}

/// Whether a command that makes an environment certainly takes a Python of uv.
fn uses_managed(run: &Run, installed: bool) -> bool {
    let value = |name: &str| run.variable(name).and_then(|value| value.text).unwrap_or_default();
    let has = |option: &str| run.command.has(option);
    let preference = value("UV_PYTHON_PREFERENCE");
    if matches!(preference.as_str(), "only-system" | "system") || has("--no-managed-python") {
        return false;
    }
    let downloads = !matches!(value("UV_PYTHON_DOWNLOADS").as_str(), "never" | "manual" | "0" | "false")
        && !has("--no-python-downloads");
    let only = preference == "only-managed" || has("--managed-python");
    // Nothing else is there that it could take.
    let none = run.state.pythons.default.kind == Kind::Absent;
    installed || downloads && (only || none)
}

/// Where uv puts the Pythons that it installs.
fn directory(run: &Run) -> Option<String> {
    if let Some(value) = run.variable("UV_PYTHON_INSTALL_DIR") {
        return value.text.map(|path| path.trim_end_matches('/').to_owned());
    }
    let moved = ["XDG_DATA_HOME", "HOME"].iter().any(|name| run.variable(name).is_some());
    (!moved).then(|| "/root/.local/share/uv/python".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;

    fn of(text: &str) -> Vec<(String, Option<String>)> {
        let file = Dockerfile::read(catalog::testing::catalog(), text, &Context::new());
        let found = environments(&file, file.stages.last().unwrap());
        found.into_iter().map(|one| (one.path, one.managed_in)).collect()
    }

    #[test]
    fn environments_of_uv() {
        let default = Some("/root/.local/share/uv/python".to_owned());
        let base = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nWORKDIR /app\n";
        let one = |rest: &str| of(&format!("{base}{rest}"));
        let venv = "/app/.venv".to_owned();
        assert_eq!(
            one("RUN uv python install 3.12\nRUN uv sync --frozen\n"),
            [(venv.clone(), default.clone())]
        );
        assert_eq!(one("RUN uv venv --python 3.12 /opt/v\n"), [("/opt/v".to_owned(), default)]);
        let set =
            "ENV UV_PYTHON_INSTALL_DIR=/py UV_PROJECT_ENVIRONMENT=/v UV_PYTHON_PREFERENCE=only-managed\n";
        assert_eq!(one(&format!("{set}RUN uv sync\n")), [("/v".to_owned(), Some("/py".to_owned()))]);
        let python = "FROM python:3.12\nWORKDIR /app\nRUN uv sync\n";
        assert_eq!(of(python), [(venv, None)]);
    }
}
