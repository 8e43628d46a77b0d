//! A mount below /root for a user that may not enter it.

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "home-of-root-mounted",
    severity: Severity::Warning,
    summary: "services that do not run as root mount nothing below /root",
    explain: include_str!("home_of_root_mounted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    user: \
             \"1000:1000\"\n    volumes:\n      \
             - hf:/root/.cache/huggingface\n    command: --model a/b\nvolumes: {hf: }\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    user: \"${UID:-1000}\"\n    environment: \
             [HF_HOME=/root/hf]\n\
             \x20   volumes: [{type: bind, source: ./hf, target: /root/hf}]\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.9.1\n    volumes: \
             [\"hf:/root/.cache/huggingface\"]\n\
             \x20 own:\n    image: b\n    user: \"0:0\"\n    volumes: \
             [\"hf:/root/.cache/huggingface\"]\nvolumes: \
             {hf: }\n",
        ),
        compose(
            "services:\n  llm:\n    image: b\n    user: \"1000\"\n    environment: {HF_HOME: \
             /cache}\n    volumes: \
             [\"hf:/cache\", \"./x:/root/x\"]\nvolumes: {hf: }\n",
        ),
    ],
};

/// Variables that put caches and settings elsewhere.
pub(crate) const HOMES: &[&str] =
    &["HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME"];

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(fault).collect()
}

fn fault(service: &Service) -> Option<Found> {
    let user = service.text("user")?;
    let id = user.split(':').next().unwrap_or_default().to_owned();
    // `${UID}` and `${UID:-1000}` are those of a person.
    let numeric = id.parse::<u32>().is_ok_and(|id| id != 0) || user.starts_with("${UID") || id == "$UID";
    let environment = service.environment();
    let elsewhere = HOMES.iter().any(|name| {
        environment.get(*name).and_then(Option::as_deref).is_some_and(|path| !path.starts_with("/root"))
    });
    let mount = service.mounts().into_iter().find(|one| one.target.starts_with("/root/"))?;
    if !numeric || elsewhere || service.extends_elsewhere {
        return None;
    }
    let message = format!(
        "service {} runs as user {user}, which cannot enter /root (mode 0700); the mount at {} is out of its \
         reach (`Permission denied`)",
        service.name, mount.target
    );
    let fix = "Mount it at a path outside of /root, and set HF_HOME or HOME to it";
    Some(Found::warning(service.line_of("volumes"), message, fix))
}
