//! The keys of a settings file.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use globset::Glob;
use host::file;
use jiff::civil::Date;
use toml::de::DeValue;

use crate::error::{ConfigError, ConfigErrorKind as Kind};
use crate::fail_on::FailOn;
use crate::guarded::Guarded;
use crate::ignores::{Ignore, Ignores};
use crate::origin::Sourced;
use crate::own;
use crate::settings::Settings;
use crate::source::{Source, Table, Value, as_table};

/// The keys of a settings file and what each is for.
pub const KEYS: &[(&str, &str)] = &[
    ("fail-on", "lowest severity that makes the exit code 1: error, warning, note, never"),
    ("strict", "true: exit with 3 if nothing was found but some checks could not run"),
    ("expect", "what this machine should have: gpus, driver, cuda, nccl, rdma, role"),
    ("ignore", "checks, rules or groups to skip, each an id or {id, reason, until, files}"),
    ("check", "own checks, each {name, command, hint, timeout, severity}; requires trust"),
    (
        "cluster-file",
        "the cluster file, relative to the settings file; requires trust if outside its directory",
    ),
    ("pip-index", "package index of images; requires trust"),
    ("apt-mirror", "mirror of the distribution's archive in images; requires trust"),
    ("registry", "registry that pipelines push images to; requires trust"),
];

const IGNORE: &[&str] = &["id", "reason", "until", "files"];

/// Reads a whole document: from its table `tool.envdoc` in a pyproject.toml, else from its top.
pub(crate) fn settings(source: &Source, document: &Table, pyproject: bool) -> Result<Settings, ConfigError> {
    match pyproject {
        false => table(source, document),
        true => {
            let tool = document.get("tool").and_then(|tool| as_table(tool.get_ref()));
            let Some(own) = tool.and_then(|tool| tool.get("envdoc")) else { return Ok(Settings::default()) };
            match as_table(own.get_ref()) {
                Some(own) => table(source, own),
                None => source.wrong_type(own.span().start, "tool.envdoc", "a table"),
            }
        }
    }
}

fn table(source: &Source, table: &Table) -> Result<Settings, ConfigError> {
    let known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
    source.only_known(table, "", &known)?;
    let text = |key: &str| table.get(key).map(|value| source.text(key, value)).transpose();
    let guarded = |key: &str| -> Result<Option<Guarded<String>>, ConfigError> {
        Ok(text(key)?.map(|set| Guarded::new(set, source.untrusted.clone())))
    };
    let mut settings = Settings {
        pip_index: guarded("pip-index")?,
        apt_mirror: guarded("apt-mirror")?,
        registry: guarded("registry")?,
        ..Settings::default()
    };
    settings.cluster_file = text("cluster-file")?.map(|set| cluster_file(source, set));
    if let Some(value) = table.get("check") {
        settings.checks = own::checks(source, value)?;
    }
    if let Some(word) = text("fail-on")? {
        settings.fail_on = Some(fail_on(source, word)?);
    }
    if let Some(value) = table.get("strict") {
        let at = value.span().start;
        let DeValue::Boolean(strict) = value.get_ref() else {
            return source.wrong_type(at, "strict", "true or false");
        };
        settings.strict = Some(source.sourced(at, *strict));
    }
    if let Some(value) = table.get("expect") {
        settings.expect = expect(source, value)?;
    }
    if let Some(value) = table.get("ignore") {
        settings.ignores = ignores(source, value)?;
    }
    Ok(settings)
}

/// A cluster file in the directory of the settings, or below it, is as much a part of the project as the
/// `cluster.yaml` that commands use anyway. One elsewhere may be that of another cluster.
fn cluster_file(source: &Source, set: Sourced<String>) -> Guarded<PathBuf> {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let value = folder.join(&set.value);
    let plain = Path::new(&set.value)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let elsewhere = match (file::canonical(&value), file::canonical(folder)) {
        (Ok(file), Ok(folder)) => !file.starts_with(folder),
        // There is no such file, and no link to follow.
        _ => !plain,
    };
    let untrusted = source.untrusted.clone().filter(|_| elsewhere);
    Guarded::new(Sourced { value, origin: set.origin }, untrusted)
}

fn fail_on(
    source: &Source,
    Sourced { value, origin }: Sourced<String>,
) -> Result<Sourced<FailOn>, ConfigError> {
    match FailOn::from_str(&value, false) {
        Ok(level) => Ok(Sourced { value: level, origin }),
        Err(_) => {
            let kind = Kind::Value { key: "fail-on".to_owned(), value, allowed: FailOn::words() };
            Err(ConfigError::at(source.path, origin.line, kind))
        }
    }
}

/// `expect = {gpus = 8, driver = ">=550"}`, each as `--expect` takes it.
fn expect(source: &Source, value: &Value) -> Result<Vec<Sourced<String>>, ConfigError> {
    let Some(table) = as_table(value.get_ref()) else {
        return source.wrong_type(value.span().start, "expect", "a table such as {gpus = 8}");
    };
    source.only_known(table, "expect.", facts::expected::KEYS)?;
    let mut all = Vec::new();
    for (key, value) in table {
        let at = value.span().start;
        let text = match value.get_ref() {
            DeValue::String(text) if text.starts_with(['=', '<', '>', '!', '~']) => {
                format!("{}{text}", key.get_ref())
            }
            DeValue::String(text) => format!("{}={text}", key.get_ref()),
            DeValue::Integer(number) => format!("{}={}", key.get_ref(), number.as_str()),
            DeValue::Boolean(truth) => format!("{}={truth}", key.get_ref()),
            _ => return source.wrong_type(at, key.get_ref(), "a string, a whole number, true or false"),
        };
        let mut tried = facts::Expected::default();
        if let Err(error) = tried.add(&text) {
            return source.error(at, Kind::Expected(error));
        }
        all.push(source.sourced(at, text));
    }
    Ok(all)
}

/// `ignore = ["thp", {id = "ecc-off", reason = "…"}]`, or one `[[ignore]]` each.
fn ignores(source: &Source, value: &Value) -> Result<Ignores, ConfigError> {
    let DeValue::Array(entries) = value.get_ref() else {
        return source.wrong_type(value.span().start, "ignore", "a list");
    };
    let all: Result<Vec<_>, _> = entries.iter().map(|entry| ignore(source, entry)).collect();
    all.map(Ignores)
}

fn ignore(source: &Source, entry: &Value) -> Result<Ignore, ConfigError> {
    let at = entry.span().start;
    let Some(table) = as_table(entry.get_ref()) else {
        let id = source.text("an entry of ignore", entry)?;
        let (trusted, files) = (source.untrusted.is_none(), Vec::new());
        return Ok(Ignore { id: id.value, reason: None, until: None, files, origin: id.origin, trusted });
    };
    source.only_known(table, "ignore.", IGNORE)?;
    let text = |key: &str| table.get(key).map(|value| source.text(key, value)).transpose();
    let Some(id) = text("id")? else { return source.error(at, Kind::NoId) };
    let files = match table.get("files") {
        Some(value) => patterns(source, value)?,
        None => Vec::new(),
    };
    let until = table.get("until").map(|value| date(source, value)).transpose()?;
    let reason = text("reason")?.map(|reason| reason.value);
    let trusted = source.untrusted.is_none();
    Ok(Ignore { id: id.value, reason, until, files, origin: id.origin, trusted })
}

fn date(source: &Source, value: &Value) -> Result<Date, ConfigError> {
    let at = value.span().start;
    let text = match value.get_ref() {
        DeValue::Datetime(toml::value::Datetime { date: Some(date), time: None, offset: None }) => {
            date.to_string()
        }
        DeValue::String(text) => text.to_string(),
        _ => return source.wrong_type(at, "until", "a date such as 2027-01-31"),
    };
    text.parse().or_else(|_| source.error(at, Kind::Date(text)))
}

fn patterns(source: &Source, value: &Value) -> Result<Vec<globset::GlobMatcher>, ConfigError> {
    let at = value.span().start;
    let DeValue::Array(entries) = value.get_ref() else {
        return source.wrong_type(at, "files", "a list of patterns such as [\"legacy/**\"]");
    };
    let mut all = Vec::new();
    for entry in entries {
        let pattern = source.text("files", entry)?.value;
        match Glob::new(&pattern) {
            Ok(glob) => all.push(glob.compile_matcher()),
            Err(error) => {
                return source.error(at, Kind::Pattern { pattern, error: error.kind().clone() });
            }
        }
    }
    Ok(all)
}
