//! `[[check]]` of a settings file.

use std::collections::BTreeSet;
use std::time::Duration;

use diagnostic::Severity;
use toml::de::DeValue;

use super::{Command, OwnCheck};
use crate::error::{ConfigError, ConfigErrorKind as Kind};
use crate::source::{Source, Value, as_table};

const KEYS: &[&str] = &["name", "command", "hint", "timeout", "severity"];
/// Letters of a name.
const NAME_LIMIT: usize = 64;
/// Checks of one file.
const COUNT_LIMIT: usize = 1000;
/// How long a command may run, where its check does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT_SECONDS: f64 = 3600.0;

/// The checks of one file, each with a name of its own.
pub(crate) fn checks(source: &Source, value: &Value) -> Result<Vec<OwnCheck>, ConfigError> {
    let at = value.span().start;
    let DeValue::Array(entries) = value.get_ref() else {
        return source.wrong_type(at, "check", "a list of tables: [[check]]");
    };
    if entries.len() > COUNT_LIMIT {
        return source.error(at, Kind::TooMany { key: "check", limit: COUNT_LIMIT });
    }
    let (mut all, mut names) = (Vec::new(), BTreeSet::new());
    for entry in entries {
        let check = check(source, entry)?;
        if !names.insert(check.name.clone()) {
            return Err(ConfigError::at(source.path, check.origin.line, Kind::CheckTwice(check.name)));
        }
        all.push(check);
    }
    Ok(all)
}

fn check(source: &Source, entry: &Value) -> Result<OwnCheck, ConfigError> {
    let at = entry.span().start;
    let Some(table) = as_table(entry.get_ref()) else {
        return source.wrong_type(at, "an entry of check", "a table with name and command");
    };
    source.only_known(table, "check.", KEYS)?;
    let text = |key: &str| table.get(key).map(|value| source.text(key, value)).transpose();
    let Some(name) = text("name")? else { return source.error(at, Kind::CheckWithout("name")) };
    if !is_name(&name.value) {
        return Err(ConfigError::at(source.path, name.origin.line, Kind::CheckName(name.value)));
    }
    let Some(command) = table.get("command") else {
        return source.error(at, Kind::CheckWithout("command"));
    };
    let severity = match text("severity")? {
        None => Severity::Error,
        Some(word) => match severity(&word.value) {
            Some(severity) => severity,
            None => {
                let allowed = SEVERITIES.map(|one| one.word().to_owned()).to_vec();
                let kind = Kind::Value { key: "severity".into(), value: word.value, allowed };
                return Err(ConfigError::at(source.path, word.origin.line, kind));
            }
        },
    };
    Ok(OwnCheck {
        command: words(source, command)?,
        hint: text("hint")?.map(|hint| hint.value),
        timeout: table.get("timeout").map_or(Ok(DEFAULT_TIMEOUT), |value| timeout(source, value))?,
        severity,
        origin: name.origin,
        name: name.value,
        untrusted: source.untrusted.clone(),
    })
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

fn severity(word: &str) -> Option<Severity> {
    SEVERITIES.into_iter().find(|severity| severity.word() == word)
}

/// Kebab case: it is part of an id, and may be part of a file's name in CI.
pub(super) fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=NAME_LIMIT).contains(&name.len())
        && name.chars().all(letters)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn words(source: &Source, value: &Value) -> Result<Command, ConfigError> {
    let wanted = "a list of arguments such as [\"mountpoint\", \"-q\", \"/scratch\"], or a line for sh";
    let at = value.span().start;
    let no_nul = |text: &str| !text.contains('\0');
    match value.get_ref() {
        DeValue::String(line) if !line.trim().is_empty() && no_nul(line) => {
            Ok(Command::Shell(line.to_string()))
        }
        DeValue::Array(entries) => {
            let word = |entry: &Value| match entry.get_ref() {
                DeValue::String(word) if no_nul(word) => Some(word.to_string()),
                _ => None,
            };
            match entries.iter().map(word).collect::<Option<Vec<String>>>() {
                Some(words) if words.first().is_some_and(|program| !program.is_empty()) => {
                    Ok(Command::Arguments(words))
                }
                _ => source.wrong_type(at, "command", wanted),
            }
        }
        _ => source.wrong_type(at, "command", wanted),
    }
}

fn timeout(source: &Source, value: &Value) -> Result<Duration, ConfigError> {
    let seconds: Option<f64> = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_TIMEOUT_SECONDS);
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).filter(|one| !one.is_zero()) {
        Some(timeout) => Ok(timeout),
        None => source.wrong_type(value.span().start, "timeout", "seconds, more than 0 and at most 3600"),
    }
}
