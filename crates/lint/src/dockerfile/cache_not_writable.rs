//! A cache that root makes, for a user who may not write to it.

use crate::read::dockerfile::setup::{User, setups};
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

use super::root_home_unreachable::CACHES;

pub(crate) const RULE: Rule = Rule {
    id: "cache-not-writable",
    severity: Severity::Warning,
    summary: "the user of an image may write to its caches",
    explain: include_str!("cache_not_writable.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN useradd -m svc\nRUN mkdir -p \
             /models/hf\nENV \
             HF_HOME=/models/hf\nUSER svc\nCMD [\"python\", \"server.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV TORCH_HOME=/cache/torch\nRUN useradd -m app && mkdir -p \
             /cache/torch\nUSER \
             app\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nENV TORCH_HOME=/cache/torch\nRUN useradd -m app && mkdir -p \
             /cache/torch && chown -R \
             app /cache\nUSER app\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -m app\nUSER app\nENV HF_HOME=/home/app/hf\nRUN mkdir -p \
             /home/app/hf\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -m app && mkdir -p /models\nENV HF_HOME=/models\nVOLUME \
             /models\nUSER \
             app\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -m app && mkdir -p /models\nENV HF_HOME=/models \
             HF_HUB_OFFLINE=1\nUSER \
             app\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let (setups, shipped) = (setups(file), file.shipped());
    let (Some(last), Some(of_last)) = (shipped.first(), setups.last()) else { return Vec::new() };
    let Some(User::Other(user)) = of_last.last().map(|setup| &setup.user) else { return Vec::new() };
    // Those before it may have other owners and rights.
    if shipped.len() != 1 || user == "nobody" {
        return Vec::new();
    }
    let variables = &last.end.variables;
    let value = |name: &str| variables.get(name).and_then(|value| value.text.clone());
    let offline = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].iter().any(|name| value(name).is_some());
    let found = CACHES.iter().filter(|name| **name != "VIRTUAL_ENV" && **name != "HOME").find_map(|name| {
        let path = value(name).filter(|path| path.starts_with('/') && !path.contains('$'))?;
        let path = path.trim_end_matches('/');
        let temporary =
            ["/tmp", "/var/tmp", "/dev/shm", "/home/"].iter().any(|start| path.starts_with(start));
        if temporary || offline && name.starts_with("HF_") {
            return None;
        }
        let line = made_by_root(last, of_last, path)?;
        let message = format!(
            "root makes {path} ({name}) here, and the container runs as {user}, who may not write to it: \
             downloads into the cache fail with PermissionError"
        );
        let fix = format!("Give it to the user: `install -d -o {user} {path}`, or `chown {user} {path}`");
        Some(Found::warning(line, message, fix))
    });
    found.into_iter().collect()
}

/// The line on which root makes a directory that nothing gives to somebody else.
fn made_by_root(
    stage: &Stage,
    setups: &[std::rc::Rc<crate::read::dockerfile::setup::Setup>],
    path: &str,
) -> Option<usize> {
    let made = stage.runs.iter().find(|run| {
        let command = &run.command;
        let root = setups.get(run.instruction).is_some_and(|setup| setup.user == User::Root);
        root && command.program() == "mkdir"
            && !command
                .words
                .iter()
                .any(|word| word.text.starts_with("-m") || word.text.starts_with("--mode"))
            && command.words.iter().skip(1).any(|word| {
                let own = word.text.trim_end_matches('/');
                own == path || own.starts_with(&format!("{path}/"))
            })
    })?;
    let opens = stage.instructions.iter().any(|one| {
        let text = one.text.text.as_str();
        let names = path.split('/').find(|part| !part.is_empty()).is_some_and(|top| text.contains(top));
        match one.keyword.as_str() {
            "RUN" => {
                let words = ["chown", "chmod", "install -d", "setfacl", "chgrp", "umask", "fix-permissions"];
                words.iter().any(|word| text.contains(word)) && (names || text.contains('$'))
            }
            "COPY" | "ADD" => one.flag("chown").is_some() && names,
            "VOLUME" => names,
            "WORKDIR" => false,
            _ => false,
        }
    });
    (!opens).then_some(made.command.line)
}
