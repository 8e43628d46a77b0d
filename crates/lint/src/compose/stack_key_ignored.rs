//! Keys that `docker stack deploy` ignores.

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

/// What is dropped, and what does instead.
const IGNORED: &[(&str, &str)] = &[
    ("build", "Build and push the image first, and set `image`"),
    ("cgroup_parent", ""),
    ("cgroupns_mode", ""),
    ("container_name", "Use the service name to reach it"),
    ("devices", "Start one container per node with `docker compose`; swarm cannot map devices"),
    ("domainname", ""),
    ("expose", "Delete it; services on one network reach every port"),
    ("external_links", ""),
    ("ipc", "Mount a tmpfs on /dev/shm for shared memory in the container"),
    ("links", "Delete it; services on one network resolve each other by name"),
    ("mac_address", ""),
    ("network_mode", "Use an external network named `host`"),
    ("pid", ""),
    ("privileged", "Use `cap_add`, which swarm supports"),
    ("restart", "Use `deploy.restart_policy`"),
    ("security_opt", ""),
    ("shm_size", "Use the volume `{type: tmpfs, target: /dev/shm, tmpfs: {size: BYTES}}`"),
    ("userns_mode", ""),
];

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::No {
        return Vec::new();
    }
    file.services.iter().flat_map(ignored).collect()
}

fn ignored(service: &Service) -> Vec<Found> {
    let meant = |key: &str| service.at(&[key]).filter(|value| **value != Value::Bool(false)).is_some();
    let keys = IGNORED.iter().filter(|(key, _)| meant(key));
    keys.map(|(key, instead)| {
        let message = format!("`docker stack deploy` ignores `{key}` in service {}", service.name);
        Found::warning(service.line_of(key), message, *instead)
    })
    .collect()
}
