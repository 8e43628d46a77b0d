//! A health check that gives a server up while it loads its model, and a service that waits for it.

use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "unhealthy-before-loaded",
    severity: Severity::Warning,
    summary: "a server has the time to load its model before others give up waiting for it",
    explain: include_str!("unhealthy_before_loaded.md"),
    judge: Judge::Compose(judge),
    fires: &[compose(
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
         a/b]\n    healthcheck:\n\
         \x20     test: curl -f http://localhost:8000/health\n      interval: 5s\n      retries: \
         3\n  web:\n    \
         image: example/web\n    depends_on: {llm: {condition: service_healthy}}\n",
    )],
    silent: &[
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n    healthcheck:\n\
             \x20     test: curl -f http://localhost:8000/health\n      interval: 5s\n      retries: 3\n\
             \x20     start_period: 10m\n  web:\n    image: example/web\n    depends_on: {llm: {condition: \
             service_healthy}}\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n    healthcheck:\n\
             \x20     test: curl -f http://localhost:8000/health\n      interval: 10s\n      retries: \
             60\n  web:\n\
             \x20   image: example/web\n    depends_on: {llm: {condition: service_healthy}}\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n    healthcheck:\n\
             \x20     test: curl -f http://localhost:8000/health\n      interval: 5s\n      retries: \
             3\n  web:\n    \
             image: example/web\n    depends_on: [llm]\n",
        ),
    ],
};

/// Servers of language models rarely answer earlier.
const LOADED_SECONDS: f64 = 120.0;

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    file.services.iter().filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    service.at(&["healthcheck", "test"])?;
    if service.at(&["healthcheck", "disable"]).is_some() {
        return None;
    }
    let waits = file.services.iter().find(|one| waits_for(one, &service.name))?;
    let server = of_service(file, service).filter(|server| server.loads_model)?;
    let duration = |key: &str, default: f64| match service.at(&["healthcheck", key]).and_then(text) {
        Some(text) => seconds(&text),
        None => Some(default),
    };
    // Docker's defaults: an interval of 30 s, 3 retries, no start period.
    let retries = match service.at(&["healthcheck", "retries"]).and_then(text) {
        Some(text) => text.parse::<f64>().ok()?,
        None => 3.0,
    };
    let time = duration("start_period", 0.0)? + duration("interval", 30.0)? * retries;
    let message = format!(
        "service {} is unhealthy {time} s after its start, while {} still loads its model; docker compose \
         up \
         then fails for service {}",
        service.name, server.name, waits.name
    );
    let fix = "Add a start_period for the time of loading: `start_period: 15m`";
    (time < LOADED_SECONDS).then(|| Found::warning(service.line_of("healthcheck"), message, fix))
}

pub(super) fn waits_for(service: &Service, name: &str) -> bool {
    let Some(Value::Mapping(map)) = service.at(&["depends_on"]) else { return false };
    let healthy =
        |value: &Value| below(value, &["condition"]).and_then(text).as_deref() == Some("service_healthy");
    map.iter().any(|(key, value)| text(key).as_deref() == Some(name) && healthy(value))
}

/// The seconds of `1m30s`.
fn seconds(duration: &str) -> Option<f64> {
    let (mut rest, mut sum) = (duration, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = &rest[end..];
        let length = unit.find(|letter: char| letter.is_ascii_digit()).unwrap_or(unit.len());
        sum += number
            * match &unit[..length] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &unit[length..];
    }
    Some(sum)
}
