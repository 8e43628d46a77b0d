//! Keys for which `docker stack deploy` refuses a file.

use catalog::stack_keys::Section;
use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, stack};

pub(crate) const RULE: Rule = Rule {
    id: "stack-key-rejected",
    severity: Severity::Error,
    summary: "a stack file has only keys that `docker stack deploy` accepts",
    explain: include_str!("stack_key_rejected.md"),
    judge: Judge::Compose(judge),
    fires: &[
        stack(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n          \
             devices:\n            - capabilities: [gpu]\n",
        ),
        stack("name: x\nservices:\n  a:\n    image: b\n    runtime: nvidia\n"),
        stack("services:\n  a:\n    image: b\n    depends_on:\n      c: {condition: service_started}\n"),
        stack("services:\n  a:\n    image: b\n    group_add: [video]\n"),
    ],
    silent: &[
        stack(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n          \
             generic_resources:\n            - discrete_resource_spec: {kind: NVIDIA-GPU, value: 1}\n",
        ),
        stack("x-a: &a\n  image: b\nservices:\n  a:\n    <<: *a\n    x-b: c\n    depends_on: [d]\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::No {
        return Vec::new();
    }
    let certain = file.stack == IsStack::Yes;
    let top = unknown(file, Section::Top, Some(&file.root)).into_iter().map(|key| {
        Found::error(
            file.line(&[&key]),
            format!("`docker stack deploy` refuses the file because of key `{key}`"),
            "Delete it",
        )
    });
    let services = file.services.iter().flat_map(|service| rejected(file, service));
    top.chain(services).map(|found| found.unless_certain(certain)).collect()
}

fn rejected(file: &Compose, service: &Service) -> Vec<Found> {
    let name = service.name.as_str();
    let mut found: Vec<Found> = unknown(file, Section::Service, Some(&service.value))
        .into_iter()
        .map(|key| {
            let fix = match key.as_str() {
                "runtime" | "gpus" => {
                    "Set nvidia as the default runtime of dockerd, and request GPUs with `generic_resources`"
                }
                _ => "Delete it",
            };
            Found::error(
                service.line_of(&key),
                format!("`docker stack deploy` refuses the file because of `{key}` in service {name}"),
                fix,
            )
        })
        .collect();
    let reservations = ["deploy", "resources", "reservations"];
    for key in unknown(file, Section::Reservations, service.at(&reservations)) {
        let line = file.line(&["services", name, "deploy", "resources", "reservations", &key]);
        let message = format!(
            "`docker stack deploy` refuses `reservations.{key}` in service {name}; swarm has no device \
             requests"
        );
        found.push(Found::error(
            line,
            message,
            "Use `reservations.generic_resources`, and list the GPUs in daemon.json",
        ));
    }
    if service.at(&["depends_on"]).is_some_and(Value::is_mapping) {
        let message = format!("`docker stack deploy` accepts `depends_on` only as a list (service {name})");
        found.push(Found::error(
            service.line_of("depends_on"),
            message,
            "Use a list of service names; swarm ignores it anyway",
        ));
    }
    found
}

/// The keys of a mapping that its section does not accept; extensions (`x-`) are accepted anywhere.
fn unknown(file: &Compose, section: Section, value: Option<&Value>) -> Vec<String> {
    let accepted = |key: &str| file.catalog.stack_keys().accepts(section, key);
    let map = value.and_then(|value| below(value, &[])).and_then(Value::as_mapping);
    let keys = map.into_iter().flatten().filter_map(|(key, _)| text(key));
    keys.filter(|key| !accepted(key) && !key.starts_with("x-")).collect()
}
