//! Keys that `docker stack deploy` ignores.

use catalog::Catalog;
use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service};
use crate::rule::{Found, Judge, Rule, Severity, stack};

pub(crate) const RULE: Rule = Rule {
    id: "stack-key-ignored",
    severity: Severity::Warning,
    summary: "a stack file has no keys that `docker stack deploy` ignores",
    explain: include_str!("stack_key_ignored.md"),
    judge: Judge::Compose(judge),
    fires: &[stack(
        "services:\n  a:\n    image: b\n    shm_size: 8g\n    privileged: true\n    devices:\n      - \
         /dev/infiniband\n",
    )],
    silent: &[
        stack(
            "services:\n  a:\n    image: b\n    ulimits:\n      memlock: -1\n    cap_add: [IPC_LOCK]\n    \
             privileged: false\n    volumes:\n      - type: tmpfs\n        target: /dev/shm\n        tmpfs: \
             {size: 8589934592}\n",
        ),
        crate::rule::compose("services:\n  a:\n    image: b\n    shm_size: 8g\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::No {
        return Vec::new();
    }
    file.services.iter().flat_map(|service| ignored(file.catalog, service)).collect()
}

fn ignored(catalog: &Catalog, service: &Service) -> Vec<Found> {
    let meant = |key: &str| service.at(&[key]).filter(|value| **value != Value::Bool(false)).is_some();
    let keys = catalog.stack_keys().ignored().filter(|row| meant(&row.key));
    keys.map(|row| {
        let message = format!("`docker stack deploy` ignores `{}` in service {}", row.key, service.name);
        Found::warning(service.line_of(&row.key), message, row.instead.as_deref().unwrap_or_default())
    })
    .collect()
}
