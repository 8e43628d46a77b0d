//! An environment that replaces the one of the anchor that the service merges.

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "merged-environment-lost",
    severity: Severity::Warning,
    summary: "a service that merges an anchor keeps the variables that its program needs",
    explain: include_str!("merged_environment_lost.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "x-base: &base\n  image: a/b:1\n  environment:\n    MODEL_ROOT: /models\n    HF_HUB_OFFLINE: \
             \"1\"\nservices:\n  one:\n    <<: *base\n    command: python3 /srv/main.py one\n  two:\n    <<: \
             *base\n    command: python3 /srv/main.py two\n    environment:\n      TOKENIZERS_PARALLELISM: \
             \"false\"\n",
        ),
        compose(
            "x-base: &base\n  image: a/b:1\n  environment: [MODEL=/m, A=1]\nservices:\n  one:\n    <<: \
             *base\n    command: sh -c \"serve --model $$MODEL\"\n    environment: [B=2]\n",
        ),
    ],
    silent: &[
        compose(
            "x-base: &base\n  image: a/b:1\n  environment: &env\n    MODEL_ROOT: \
             /models\nservices:\n  one:\n    \
             <<: *base\n    command: python3 /srv/main.py one\n  two:\n    <<: *base\n    command: python3 \
             /srv/main.py two\n    environment:\n      <<: *env\n      A: \"1\"\n",
        ),
        compose(
            "x-base: &base\n  image: a/b:1\n  environment: {MODEL_ROOT: /models}\nservices:\n  one:\n    <<: \
             *base\n    command: python3 serve.py\n  two:\n    <<: *base\n    command: redis-server\n    \
             environment: {A: \"1\"}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let Some(root) = file.unmerged() else { return Vec::new() };
    file.services.iter().filter_map(|service| of_service(file, root, service)).collect()
}

fn of_service(file: &Compose, root: &Value, service: &Service) -> Option<Found> {
    let raw = below(root, &["services", &service.name])?;
    let base = base(raw)?;
    let (own, merged) = (below(raw, &["environment"])?, below(&base, &["environment"])?);
    let own = names(own);
    let lost: Vec<String> = names(merged).into_iter().filter(|name| !own.contains(name)).collect();
    if lost.is_empty() || !service.env_files().is_empty() {
        return None;
    }
    let command = service.command();
    let used = lost.iter().find(|name| {
        let rest = command.split("$$").skip(1).map(|rest| rest.trim_start_matches('{'));
        rest.into_iter().any(|rest| {
            rest.strip_prefix(name.as_str()).is_some_and(|rest| {
                !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
            })
        })
    });
    let lost = lost.join(", ");
    let why = match used {
        Some(name) => format!("but its command uses {name}"),
        None => {
            let other = file.services.iter().find(|other| same_program(root, raw, service, other))?;
            format!("and {} runs the same program with them", other.title)
        }
    };
    let message = format!(
        "{}: its own `environment` replaces that of the merged anchor (`<<` is shallow); {lost} are lost, \
         {why}",
        service.title
    );
    let fix = "Give the anchor's environment an anchor of its own, and merge it: `<<: *env`";
    Some(Found::warning(service.line_of("environment"), message, fix))
}

/// Whether another service merges the same, keeps its environment and runs the same program.
fn same_program(root: &Value, raw: &Value, service: &Service, other: &Service) -> bool {
    let Some(theirs) = below(root, &["services", &other.name]) else { return false };
    let program = |one: &Service| -> Vec<String> {
        one.command().split_whitespace().take(2).map(str::to_owned).collect()
    };
    let (mine, its) = (program(service), program(other));
    other.name != service.name
        && below(theirs, &["environment"]).is_none()
        && below(theirs, &["<<"]) == below(raw, &["<<"])
        && below(theirs, &["image"]) == below(raw, &["image"])
        && mine == its
}

/// What a service merges with `<<`: the first of several that has a key counts.
pub(super) fn base(raw: &Value) -> Option<Value> {
    match below(raw, &["<<"])? {
        Value::Sequence(all) => {
            let mut merged = serde_yaml::Mapping::new();
            for one in all.iter().filter_map(Value::as_mapping) {
                for (key, value) in one {
                    merged.entry(key.clone()).or_insert(value.clone());
                }
            }
            Some(Value::Mapping(merged))
        }
        other => Some(other.clone()),
    }
}

/// The names of an environment, with those that it merges.
fn names(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Mapping(map) => {
            let own = map.iter().filter_map(|(key, _)| text(key)).filter(|key| key != "<<");
            let merged = base(value).map(|inner| names(&inner)).unwrap_or_default();
            own.chain(merged).collect()
        }
        Value::Sequence(items) => {
            let items = items.iter().filter_map(text);
            items.map(|item| item.split('=').next().unwrap_or_default().to_owned()).collect()
        }
        _ => BTreeSet::new(),
    }
}
