//! Options and commands that Poetry 2 no longer has.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "poetry-option-removed",
    severity: Severity::Error,
    summary: "options and commands of Poetry are those of the installed release",
    explain: include_str!("poetry_option_removed.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install poetry==2.1.1\nRUN poetry install --no-dev --no-root\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nENV POETRY_VERSION=2.0.1\nRUN curl -sSL \
             https://install.python-poetry.org | \
             python3 -\nRUN poetry export -f requirements.txt -o r.txt\n",
        ),
        dockerfile(
            "FROM python:3.11-slim AS reqs\nRUN pipx install 'poetry>=2,<3'\nFROM reqs\nRUN poetry lock \
             --no-update && \
             poetry install\n",
        ),
        dockerfile("FROM python:3.11-slim\nRUN pip install poetry && poetry update --no-dev\n"),
        dockerfile(
            "FROM python:3.11-slim\nARG POETRY_VERSION=2.1.1\nRUN curl -sSL \
             https://install.python-poetry.org | \
             POETRY_VERSION=${POETRY_VERSION} python3 -\nRUN poetry install --no-dev\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install poetry==1.8.5\nRUN poetry install --no-dev && poetry \
             export\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install poetry==2.1.1 poetry-plugin-export\nRUN poetry export -f \
             requirements.txt && poetry install --without dev --no-root\n",
        ),
        dockerfile("FROM python:3.11-slim\nRUN pip install 'poetry<2'\nRUN poetry install --no-dev\n"),
        dockerfile("FROM python:3.11-slim\nRUN pip install poetry-core>=2\nRUN poetry install --no-dev\n"),
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install poetry==2.1.1\nRUN poetry install --no-dev || poetry \
             install\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install poetry==2.1.1\nRUN poetry run shell && poetry install \
             --sync\n",
        ),
    ],
};

/// What is known of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Release {
    /// 2.0 or later; and whether somebody else may choose another one.
    Two {
        default: bool,
    },
    /// The newest, whatever that is.
    Newest,
    Other,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(|stage| fault(file, stage)).collect()
}

fn fault(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    if !stage.runs.iter().any(|run| run.command.program() == "poetry") {
        return None;
    }
    let runs: Vec<&Run> = file.lineage(stage).into_iter().rev().flat_map(|stage| &stage.runs).collect();
    let plugin =
        |name: &str| runs.iter().any(|run| run.command.words.iter().any(|word| word.text.contains(name)));
    let mut release = Release::Other;
    for (index, run) in runs.iter().enumerate() {
        let piped_from = index.checked_sub(1).and_then(|before| runs.get(before)).map(|run| &run.command);
        release = installed(run, piped_from).unwrap_or(release);
        let command = &run.command;
        let own = index >= runs.len() - stage.runs.len();
        let counts = own && command.certain && !command.condition && command.after != "||";
        if command.program() != "poetry" || !counts || release == Release::Other {
            continue;
        }
        let Some(Removed { what, instead, plugin }) = removed(command, &plugin) else { continue };
        let message = match release {
            Release::Newest => {
                format!(
                    "Poetry is installed without a version; since 2.0 it has no {what}, and the command fails"
                )
            }
            _ => format!("Poetry 2 has no {what}; the command fails"),
        };
        // A project may ask for the plugin itself, and Poetry then installs it.
        let certain = release == Release::Two { default: false } && !plugin;
        return Some(Found::error(command.line, message, instead).unless_certain(certain));
    }
    None
}

/// The release that a command installs.
fn installed(run: &Run, before: Option<&Command>) -> Option<Release> {
    let command = &run.command;
    let program = command.program();
    let installs = matches!(program, "pip" | "pip3" | "pipx" | "uv" | "python" | "python3")
        && command.words.iter().any(|word| word.text == "install");
    if installs {
        let word = command.words.iter().find(|word| {
            let rest = word.text.strip_prefix("poetry");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', '<', '>', '~', '!', '[']))
        })?;
        return Some(match &word.text["poetry".len()..] {
            "" => Release::Newest,
            rest if word.known => of_specifier(rest, word.default),
            _ => Release::Other,
        });
    }
    let installer = |one: &Command| one.text().contains("install.python-poetry.org");
    let piped = command.piped && matches!(program, "python" | "python3") && before.is_some_and(installer);
    if !piped {
        return None;
    }
    let option = command.words.iter().position(|word| word.text == "--version");
    if let Some(word) = option.and_then(|at| command.words.get(at + 1)) {
        return Some(if word.known { of_version(&word.text, word.default) } else { Release::Other });
    }
    // `POETRY_VERSION=${POETRY_VERSION} python3 -`: the variable of the image.
    let name = "POETRY_VERSION";
    let same = command.sets.iter().any(|(set, word)| set == name && word.text.contains(name));
    let value = if same { run.state.variables.get(name).cloned() } else { run.variable(name) };
    Some(match value {
        Some(value) => value.text.map_or(Release::Other, |text| of_version(&text, value.default)),
        None => Release::Newest,
    })
}

fn of_version(version: &str, default: bool) -> Release {
    let major = version.split('.').next().unwrap_or_default();
    if major.parse().is_ok_and(|major: u32| major >= 2) { Release::Two { default } } else { Release::Other }
}

/// Of `==2.1.1`, `>=2,<3`, `~=2.0`: the lowest release decides.
fn of_specifier(specifier: &str, default: bool) -> Release {
    let lowest = specifier.trim_start_matches(|letter| letter != '[').rsplit(']').next().unwrap_or(specifier);
    let lowest = if lowest.is_empty() { specifier } else { lowest };
    let parts: Vec<&str> = specifier.split(',').chain([lowest]).map(str::trim).collect();
    let bounded = parts.iter().find_map(|part| {
        let version = part.strip_prefix("==").or(part.strip_prefix(">=")).or(part.strip_prefix("~="))?;
        Some(of_version(version.trim_start_matches('=').trim(), default))
    });
    let below = parts.iter().any(|part| part.starts_with('<'));
    match bounded {
        Some(release) => release,
        None if below => Release::Other,
        None => Release::Newest,
    }
}

/// Something that Poetry 2 does not have.
struct Removed {
    what: &'static str,
    instead: &'static str,
    /// Whether a plugin has it.
    plugin: bool,
}

/// What a command uses that Poetry 2 does not have, unless a plugin of this name is installed.
fn removed(command: &Command, plugin: &dyn Fn(&str) -> bool) -> Option<Removed> {
    let verb = command.words.iter().skip(1).find(|word| !word.text.starts_with('-'))?.text.as_str();
    let made = |what, instead, plugin| Some(Removed { what, instead, plugin });
    match verb {
        "install" | "update" | "show" if command.has("--no-dev") => {
            made("option --no-dev", "Use `--without dev`, or `--only main`", false)
        }
        "install" if command.has("--remove-untracked") => {
            made("option --remove-untracked", "Use `poetry sync`", false)
        }
        "lock" if command.has("--check") => made("`poetry lock --check`", "Use `poetry check --lock`", false),
        "lock" if command.has("--no-update") => made(
            "option --no-update of `poetry lock`",
            "Remove the option: `poetry lock` keeps the versions that are locked",
            false,
        ),
        "export" if !plugin("poetry-plugin-export") => {
            made("command `export` of its own", "Install poetry-plugin-export together with Poetry", true)
        }
        "shell" if !plugin("poetry-plugin-shell") => {
            made("command `shell` of its own", "Use `poetry run`, or install poetry-plugin-shell", true)
        }
        _ => None,
    }
}
