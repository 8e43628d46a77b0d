//! A program of a Python package whose library alone was copied from the stage that installed it.

use crate::base::Base;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "console-script-left-behind",
    severity: Severity::Error,
    summary: "programs of packages that are copied from another stage are copied with them",
    explain: include_str!("console_script_left_behind.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM python:3.12-slim AS build\nRUN pip install gunicorn==22.0.0 flask\nFROM \
         python:3.12-slim\nCOPY \
         --from=build /usr/local/lib/python3.12/site-packages /usr/local/lib/python3.12/site-packages\nCMD \
         [\"gunicorn\", \"-b\", \"0.0.0.0:8000\", \"app:app\"]\n",
    )],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN pip install gunicorn==22.0.0\nFROM python:3.12-slim\nCOPY \
             --from=build /usr/local/lib/python3.12/site-packages \
             /usr/local/lib/python3.12/site-packages\nCOPY \
             --from=build /usr/local/bin /usr/local/bin\nCMD [\"gunicorn\", \"app:app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN pip install gunicorn==22.0.0\nFROM python:3.12-slim\nCOPY \
             --from=build /usr/local /usr/local\nCMD [\"gunicorn\", \"app:app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN pip install gunicorn==22.0.0\nFROM python:3.12-slim\nCOPY \
             --from=build /usr/local/lib/python3.12/site-packages \
             /usr/local/lib/python3.12/site-packages\nCMD \
             [\"python\", \"-m\", \"gunicorn\", \"app:app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN pip install flask\nFROM python:3.12-slim\nRUN pip \
             install gunicorn\n\
             COPY --from=build /usr/local/lib/python3.12/site-packages \
             /usr/local/lib/python3.12/site-packages\nCMD \
             [\"gunicorn\", \"app:app\"]\n",
        ),
    ],
};

/// Programs that pip installs with a package, and the packages.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("gunicorn", &["gunicorn"]),
    ("uvicorn", &["uvicorn", "fastapi"]),
    ("hypercorn", &["hypercorn"]),
    ("celery", &["celery"]),
    ("flask", &["flask"]),
    ("fastapi", &["fastapi", "fastapi-cli"]),
    ("streamlit", &["streamlit"]),
    ("vllm", &["vllm"]),
    ("accelerate", &["accelerate"]),
    ("torchrun", &["torch"]),
    ("deepspeed", &["deepspeed"]),
    ("ray", &["ray"]),
    ("mlflow", &["mlflow"]),
    ("tensorboard", &["tensorboard"]),
    ("jupyter", &["jupyter", "jupyterlab", "notebook", "jupyter-core"]),
    ("jupyter-lab", &["jupyterlab"]),
    ("huggingface-cli", &["huggingface-hub", "transformers"]),
    ("alembic", &["alembic"]),
    ("bentoml", &["bentoml"]),
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped = file.shipped();
    let bare = match shipped.last().map(|stage| &stage.from) {
        Some(From::Image(image)) => image.known && Base::of(&image.text).is_some_and(Base::lacks_packages),
        _ => false,
    };
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    if !bare || end.opaque {
        return Vec::new();
    }
    let commands = started(file);
    let Some(command) = commands.first() else { return Vec::new() };
    let first = command.words.first().filter(|word| word.known).map_or("", |word| word.text.as_str());
    let name = first.strip_prefix("/usr/local/bin/").unwrap_or(first);
    let Some((program, packages)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
        return Vec::new();
    };
    if shipped.iter().any(|stage| may_have(stage, packages)) {
        return Vec::new();
    }
    let Some(from) = shipped.iter().find_map(|stage| library(file, stage)) else { return Vec::new() };
    let message = format!(
        "{program} is not in the image: the packages of stage {from} are copied, but not their programs \
         in its bin \
         directory; `executable file not found in $PATH`"
    );
    let fix =
        format!("Add `COPY --from={from} /usr/local/bin /usr/local/bin`, or start `python -m {program}`");
    vec![Found::error(command.line, message, fix).unless_certain(command.certain)]
}

/// The stage whose installed packages are copied, as COPY names it.
fn library(file: &Dockerfile, stage: &Stage) -> Option<String> {
    let copies = stage.instructions.iter().filter(|one| one.keyword == "COPY");
    copies.into_iter().find_map(|one| {
        let from = one.flag("from")?;
        file.stage_of(one)?;
        is_library(&one.words()).then(|| from.to_owned())
    })
}

/// Whether sources and target of a COPY are only libraries of Python.
fn is_library(words: &[&str]) -> bool {
    let end = |word: &str| {
        let word = word.trim_end_matches('/');
        word.ends_with("site-packages") || word.ends_with("dist-packages") || {
            let base = word.rsplit('/').next().unwrap_or_default();
            word.contains("/lib/") && base.starts_with("python3.")
        }
    };
    words.len() > 1 && words.iter().all(|word| end(word))
}

/// Whether a stage may get the program in another way.
fn may_have(stage: &Stage, packages: &[&str]) -> bool {
    let path = stage.end.variables.has("PATH");
    let copied = stage.instructions.iter().any(|one| {
        let words = one.words();
        if !matches!(one.keyword.as_str(), "COPY" | "ADD") || is_library(&words) {
            return false;
        }
        let target = words.last().map_or("", |target| target.trim_end_matches('/'));
        let anywhere = matches!(target, "" | "/usr" | "/usr/local" | "/opt") || target.contains('$');
        anywhere || target.contains("bin") || path && one.flag("from").is_some()
    });
    let installed = stage.runs.iter().any(|run| {
        let by_pip = run.install.as_ref().is_some_and(|install| {
            install.more
                || !install.files.is_empty()
                || install.requirements.iter().any(|one| packages.contains(&one.name.as_str()))
        });
        let words = apt::packages(run.state.catalog, &run.command);
        let by_apt = words
            .iter()
            .any(|word| !word.known || packages.iter().any(|name| apt::name(word).contains(name)));
        let others = matches!(
            run.command.program(),
            "uv" | "poetry" | "conda" | "mamba" | "micromamba" | "pipx" | "pdm" | "ln" | "cp" | "mv" | "pixi"
        );
        // A dependency may bring it.
        by_pip || by_apt || others || run.install.is_some()
    });
    copied || installed
}
