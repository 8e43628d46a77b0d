//! Entries of an environment list whose quotes or blanks become part of the value.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, text};
use crate::rule::{Change, Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "environment-entry-quoted",
    severity: Severity::Warning,
    summary: "entries of an environment list are `NAME=value` without quotes and spaces",
    explain: include_str!("environment_entry_quoted.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    environment:\n      - NCCL_SOCKET_IFNAME=\"eth1\"\n"),
        compose("services:\n  a:\n    image: b\n    environment:\n      - NCCL_DEBUG = INFO\n"),
        compose("services:\n  a:\n    image: b\n    environment:\n      - \"NCCL_DEBUG: INFO\"\n"),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    environment:\n      - \"A=b c\"\n      - B\n      - \
                J={\"a\":\"b\"}\n",
        ),
        compose("services:\n  a:\n    image: b\n    environment: {A: \"b\"}\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().flat_map(of_service).collect()
}

fn of_service(service: &Service) -> Vec<Found> {
    let Some(Value::Sequence(items)) = service.at(&["environment"]) else { return Vec::new() };
    items.iter().filter_map(text).filter_map(|item| entry(service, &item)).collect()
}

fn entry(service: &Service, item: &str) -> Option<Found> {
    let line = service.line_of("environment");
    let Some((name, value)) = item.split_once('=') else {
        let (name, value) = item.split_once(": ")?;
        let message = format!("service {}: {item:?} sets no variable; it is the name of one", service.name);
        let found = Found::warning(line, message, format!("Write `- {name}={value}`")).about(name);
        return Some(found.change_if(rewritten(item, name, value)));
    };
    if name.ends_with(' ') || value.starts_with(' ') {
        let message = format!(
            "service {}: the spaces around = in {item:?} become part of name and value",
            service.name
        );
        let found = Found::warning(line, message, format!("Write `- {}={}`", name.trim(), value.trim()))
            .about(name.trim());
        return Some(found.change_if(rewritten(item, name.trim(), value.trim())));
    }
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
    let message = format!("service {}: the quotes are part of the value of {name}: {value}", service.name);
    (!inner.contains(quote)).then(|| {
        Found::warning(line, message, format!("Write `- {name}={inner}`"))
            .about(name)
            .change_if(rewritten(item, name, inner))
    })
}

/// The entry without quotes and spaces, where it is one word in YAML too.
fn rewritten(item: &str, name: &str, value: &str) -> Option<Change> {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_./,^=-".contains(c));
    let change = || Change::Only { old: item.to_owned(), new: format!("{name}={value}") };
    (plain(name) && plain(value)).then(change)
}
