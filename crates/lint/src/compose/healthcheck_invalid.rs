//! Health checks that are refused, and services that wait for one that does not exist.

use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "healthcheck-invalid",
    severity: Severity::Error,
    summary: "health checks can run, and services that others wait for have one",
    explain: include_str!("healthcheck_invalid.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    healthcheck: {test: [curl, \
            -f, \"http://localhost\"]}\n",
        ),
        compose(
            "services:\n  a:\n    image: x/b\n    depends_on: {redis: {condition: service_healthy}}\n  \
                redis:\n    \
             image: redis:7\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    healthcheck: {test: [CMD, \"true\"], interval: \"30\"}\n",
        ),
        compose("services:\n  a:\n    image: b\n    healthcheck: {test: [CMD, \"true\"], interval: 5}\n"),
        compose(
            "services:\n  a:\n    image: b\n    healthcheck: {test: [CMD, \"curl -f http://localhost || \
                exit 1\"]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    healthcheck: {test: [CMD, curl, -f, \
             \"http://localhost:8000\", \
             \"||\", exit, \"1\"]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    healthcheck:\n      test: [CMD-SHELL, curl, -f, \
             \"http://localhost:8000\"]\n",
        ),
    ],
    silent: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    image: b\n    depends_on: {model: {condition: service_healthy}}\n  \
                   model:\n    build: ./model\n",
            companions: &[("model/Dockerfile", "FROM debian:12\nHEALTHCHECK CMD curl -f http://localhost\n")],
        },
        compose(
            "services:\n  a:\n    image: b\n    healthcheck: {test: [CMD-SHELL, \"curl -f http://a || exit \
            1\"], \
             interval: 1m30s}\n  c:\n    image: b\n    healthcheck: {test: curl -f http://localhost}\n\
             \x20   depends_on: {a: \
             {condition: service_healthy}}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() || file.stack == IsStack::Yes {
        return Vec::new();
    }
    let own = file.services.iter().flat_map(|service| of_service(file, service));
    own.chain(file.services.iter().flat_map(|one| awaited(file, one))).collect()
}

fn of_service(file: &Compose, service: &Service) -> Vec<Found> {
    let line = || service.line_of("healthcheck");
    let mut found = Vec::new();
    if let Some(Value::Sequence(test)) = service.at(&["healthcheck", "test"]) {
        let words: Vec<String> = test.iter().filter_map(text).collect();
        let first = words.first().map_or("", String::as_str);
        if !matches!(first, "CMD" | "CMD-SHELL" | "NONE") && !first.contains('$') {
            let message = format!(
                "service {}: healthcheck.test begins with {first:?}; docker compose requires CMD, \
                    CMD-SHELL or NONE",
                service.name
            );
            found.push(Found::error(line(), message, "Write `[CMD, …]`, or the command as a string"));
        }
        let command = words.get(1).filter(|_| first == "CMD" && words.len() == 2);
        if let Some(command) = command.filter(|command| command.trim().contains(' ')) {
            let message = format!(
                "service {}: CMD runs the program {command:?} without a shell; the check always fails",
                service.name
            );
            found.push(Found::warning(line(), message, "Write CMD-SHELL, or one item per argument"));
        }
    }
    if let Some(Value::Sequence(test)) = service.at(&["healthcheck", "test"]) {
        let words: Vec<String> = test.iter().filter_map(text).collect();
        found.extend(misread(service, &words).map(|(message, fix)| Found::error(line(), message, fix)));
    }
    for key in DURATIONS {
        let Some(value) = service.at(&["healthcheck", key]).and_then(text) else { continue };
        if !is_duration(&value) && !value.contains('$') {
            let message = format!(
                "service {}: healthcheck.{key} {value} is not a duration; docker compose refuses it",
                service.name
            );
            let number = value.parse::<u64>().is_ok();
            let fix =
                if number { format!("Write `{value}s`") } else { "Write for example `1m30s`".to_owned() };
            let line = file.line(&["services", &service.name, "healthcheck", key]);
            let of = if number { Found::error } else { Found::warning };
            found.push(of(line, message, fix));
        }
    }
    found
}

/// What Docker makes of a list that was meant as one command line.
fn misread(service: &Service, words: &[String]) -> Option<(String, String)> {
    let (first, rest) = words.split_first()?;
    let whole = rest.join(" ");
    match first.as_str() {
        "CMD" => {
            let is_operator = |word: &&String| matches!(word.as_str(), "||" | "&&" | "|" | ";" | ">" | ">>");
            let operator = rest.iter().find(is_operator)?;
            // A shell may be the program, with the operator as an argument on purpose.
            let program = rest.first()?;
            let message = format!(
                "service {}: CMD passes {operator:?} to {program} as an argument; the check always fails",
                service.name
            );
            Some((message, format!("Write `[CMD-SHELL, \"{whole}\"]`")))
        }
        "CMD-SHELL" if rest.len() > 1 => {
            let message = format!(
                "service {}: CMD-SHELL runs only {:?}; the words after it are not part of the command",
                service.name,
                rest.first()?
            );
            Some((message, format!("Write the whole command as one item: `[CMD-SHELL, \"{whole}\"]`")))
        }
        _ => None,
    }
}

/// Keys of a health check whose values are durations.
pub(super) const DURATIONS: [&str; 4] = ["interval", "timeout", "start_period", "start_interval"];

/// `1m30s`, as Go reads it.
pub(super) fn is_duration(value: &str) -> bool {
    let mut rest = value;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let units = ["ns", "us", "µs", "ms", "s", "m", "h", "d", "w"];
        let Some(unit) = units.iter().find(|unit| {
            rest[end..]
                .strip_prefix(**unit)
                .is_some_and(|next| next.is_empty() || next.starts_with(|c: char| c.is_ascii_digit()))
        }) else {
            return value == "0";
        };
        if end == 0 {
            return false;
        }
        rest = &rest[end + unit.len()..];
    }
    !value.is_empty()
}

/// Services for whose health another one waits.
fn awaited(file: &Compose, service: &Service) -> Vec<Found> {
    let Some(Value::Mapping(map)) = service.at(&["depends_on"]) else { return Vec::new() };
    let healthy =
        |value: &Value| below(value, &["condition"]).and_then(text).as_deref() == Some("service_healthy");
    let names = map.iter().filter(|(_, value)| healthy(value)).filter_map(|(name, _)| text(name));
    names
        .filter_map(|name| {
            let other = file.services.iter().find(|one| one.name == name && !one.extends_elsewhere)?;
            let disabled = other.at(&["healthcheck", "disable"]).and_then(text).as_deref() == Some("true")
                || other.list(&["healthcheck", "test"]).first().is_some_and(|first| first == "NONE");
            let has_test = other.at(&["healthcheck", "test"]).is_some() && !disabled;
            if has_test {
                return None;
            }
            if !disabled && checks_itself(file, other) {
                return None;
            }
            // Official images have none; another image, or one built here, may.
            let image = other.text("image").filter(|_| other.at(&["build"]).is_none());
            let official = image.as_ref().is_some_and(|image| !image.contains(['/', '$']));
            let consequence = match official || disabled {
                true => "docker compose up fails",
                false => "docker compose up fails, unless its image has one",
            };
            let message = format!(
                "service {} waits until {name} is healthy, but {name} has no healthcheck; {consequence}",
                service.name
            );
            let found = Found::error(
                file.line(&["services", &service.name, "depends_on", &name]),
                message,
                format!("Add a healthcheck to {name}, or wait for service_started"),
            );
            match image {
                Some(_) => Some(found.unless_certain(official || disabled)),
                None => Some(Found { severity: Severity::Note, ..found }),
            }
        })
        .collect()
}

/// Whether the image that a service builds has a health check of its own.
fn checks_itself(file: &Compose, service: &Service) -> bool {
    let Some(read) = file.built(service) else { return false };
    let checks = read.shipped();
    let mut checks = checks.iter().flat_map(|stage| &stage.instructions);
    checks.any(|one| one.keyword == "HEALTHCHECK" && !one.text.text.trim().eq_ignore_ascii_case("none"))
}
