//! A path below /run/secrets that no secret of the service has.

use crate::read::compose::{Compose, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "secret-not-granted",
    severity: Severity::Warning,
    summary: "a service has the secrets whose files it reads",
    explain: include_str!("secret_not_granted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  db:\n    image: postgres:16\n    environment: {POSTGRES_PASSWORD_FILE: \
             /run/secrets/db}\n    secrets: [pw]\nsecrets:\n  pw: {file: ./pw.txt}\n",
        ),
        compose(
            "services:\n  vllm:\n    image: vllm/vllm-openai:v0.8.5\n    gpus: all\n    entrypoint: [sh, -c, \
             \"HF_TOKEN=$$(cat /run/secrets/hf_token) vllm serve m/n\"]\nsecrets:\n  hf_token: {file: \
             ./token}\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  db:\n    image: postgres:16\n    environment: {POSTGRES_PASSWORD_FILE: \
             /run/secrets/db, OTHER: /run/secrets/pw}\n    secrets: [pw, {source: x, target: \
             db}]\nsecrets:\n  \
             pw: {file: ./pw.txt}\n  x: {file: ./x}\n",
        ),
        compose(
            "services:\n  a:\n    image: b/c:1\n    command: cat /run/secrets/x\n    volumes: \
             [\"./s:/run/secrets:ro\"]\n",
        ),
        compose(
            "services:\n  a:\n    image: b/c:1\n    environment: {TOKEN_FILE: \"/run/secrets/${NAME}\"}\n",
        ),
    ],
};

const FOLDER: &str = "/run/secrets/";

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() {
        return Vec::new();
    }
    file.services.iter().filter_map(fault).collect()
}

fn fault(service: &Service) -> Option<Found> {
    let mounted = service.list(&["volumes"]).iter().any(|one| one.contains("/run/secrets"))
        || below(&service.value, &["volumes"]).and_then(|all| all.as_sequence()).is_some_and(|all| {
            all.iter().any(|one| {
                below(one, &["target"]).and_then(text).is_some_and(|to| to.contains("/run/secrets"))
            })
        });
    if mounted || service.extends_elsewhere {
        return None;
    }
    let granted: Vec<String> = match service.at(&["secrets"]).and_then(|all| all.as_sequence()) {
        Some(all) => all
            .iter()
            .filter_map(|one| {
                let target = below(one, &["target"]).and_then(text);
                text(one).or(target).or_else(|| below(one, &["source"]).and_then(text))
            })
            .map(|name| name.trim_start_matches(FOLDER).to_owned())
            .collect(),
        None => Vec::new(),
    };
    let environment = service.environment();
    let values = environment.values().filter_map(|value| Some((value.clone()?, "environment")));
    let commands = ["entrypoint", "command"].into_iter().map(|key| (service.list(&[key]).join(" "), key));
    values.chain(commands).find_map(|(value, key)| {
        let name = value.split(FOLDER).skip(1).find_map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"_-.".contains(letter));
            let name = &rest[..end.unwrap_or(rest.len())];
            let behind = &rest[name.len()..];
            let plain = !name.is_empty() && !behind.starts_with(['$', '/']);
            (plain && !granted.iter().any(|one| one == name)).then(|| name.to_owned())
        })?;
        let has = match granted.is_empty() {
            true => "it has no secrets".to_owned(),
            false => format!("its secrets are {}", granted.join(", ")),
        };
        let message = format!("{} reads {FOLDER}{name}, but {has}; the file does not exist", service.title);
        let fix = format!("Add `{name}` to `secrets` of the service, or use the name of its secret");
        Some(Found::warning(service.line_of(key), message, fix))
    })
}
