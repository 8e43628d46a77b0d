//! A version without quotes that YAML reads as a number.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, below};
use crate::rule::{Change, Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "number-loses-digits",
    severity: Severity::Warning,
    summary: "versions in arguments and variables are texts",
    explain: include_str!("number_loses_digits.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    build:\n      context: .\n      args:\n        PYTHON_VERSION: 3.10\n"),
        compose(
            "services:\n  a:\n    image: b/c:1\n    environment:\n      TORCH_CUDA_ARCH_LIST: 9.0\n      \
             LOG_LEVEL: info\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    build:\n      context: .\n      args:\n        PYTHON_VERSION: \
             \"3.10\"\n        \
             TORCH_VERSION: 2.6.0\n        CUDA_VERSION: 12.4\n",
        ),
        compose(
            "services:\n  a:\n    image: b/c:1\n    environment:\n      TEMPERATURE: 1.0\n      SHARE: \
             0.90\n",
        ),
        compose("services:\n  a:\n    image: b/c:1\n    environment:\n      - PYTHON_VERSION=3.10\n"),
    ],
};

/// Words in names of what is a version and no amount.
const VERSIONS: &[&str] = &["VERSION", "ARCH", "PYTHON", "TAG", "RELEASE"];

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() {
        return Vec::new();
    }
    file.services.iter().flat_map(|service| of_service(file, service)).collect()
}

fn of_service(file: &Compose, service: &Service) -> Vec<Found> {
    let mut found = Vec::new();
    for path in [&["environment"][..], &["build", "args"]] {
        let entries = below(&service.value, path).and_then(Value::as_mapping).into_iter().flatten();
        for (key, value) in entries.filter(|(_, value)| value.is_f64()) {
            let (Some(name), Some(number)) = (key.as_str(), value.as_f64()) else { continue };
            let upper = name.to_ascii_uppercase();
            if !VERSIONS.iter().any(|word| upper.contains(word)) {
                continue;
            }
            let location = file.line(&[&["services", service.name.as_str()], path, &[name]].concat());
            // An anchor's value is on a line of its own.
            let line = file.text.lines().nth(location.line.saturating_sub(1)).unwrap_or_default();
            let written = line.trim_start().strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
            let Some(written) = written.map(|rest| rest.split(" #").next().unwrap_or_default().trim()) else {
                continue;
            };
            let read = number.to_string();
            let lost = written.contains('.') && written.ends_with('0') && written != read;
            if !lost || location.file.is_some() || written.parse::<f64>().ok() != Some(number) {
                continue;
            }
            let message = format!(
                "{}: {name} {written} is a number in YAML, and becomes the text {read}",
                service.title
            );
            let change = Change::quote(location.line, name);
            found.push(
                Found::warning(location, message, format!("Write `{name}: \"{written}\"`")).change(change),
            );
        }
    }
    found
}
