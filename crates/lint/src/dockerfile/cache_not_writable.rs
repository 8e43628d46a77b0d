//! A cache that root makes, for a user who may not write to it.

use crate::image_owners::Owners;
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::setup::{User, setups};
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
        // The other directory is the user's.
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HOME=/opt/hf\nRUN useradd -m app && mkdir -p /opt/hf \
             /opt/app\nCOPY --chown=app server.py /opt/app/\nUSER app\nCMD [\"python\", \
             \"/opt/app/server.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -m svc && mkdir -p /srv/log && chown svc \
             /srv/log\nWORKDIR /srv/hf\nENV HF_HOME=/srv/hf\nUSER svc\nCMD [\"python3\", \"-m\", \
             \"app\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HOME=/opt/hf\nRUN useradd -m app && mkdir -p /opt/hf && chown -R \
             app /opt\nCOPY server.py /app/\nUSER app\nCMD [\"python\", \"/app/server.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nENV HF_HOME=/opt/hf\nRUN useradd -m app && mkdir -p /opt/hf\nCOPY \
             --chown=app hf/ /opt/hf/\nUSER app\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
        // BuildKit makes the directory as the user who is set.
        dockerfile(
            "FROM python:3.12-slim\nRUN useradd -m app\nUSER app\nWORKDIR /data/hf\nENV \
             HF_HOME=/data/hf\nCMD [\"python\", \"-m\", \"app\"]\n",
        ),
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
    let owners = Owners::of(&[(last, of_last.as_slice())]);
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
        let line = owners.made(path).filter(|_| !owners.is_given(path))?;
        let message = format!(
            "root makes {path} ({name}) here, and the container runs as {user}, who may not write to it: \
             downloads into the cache fail with PermissionError"
        );
        let fix = format!("Give it to the user: `install -d -o {user} {path}`, or `chown {user} {path}`");
        Some(Found::warning(line, message, fix))
    });
    found.into_iter().collect()
}
