//! The rules that every file of the catalog keeps to, as functions: the tests hold the embedded files to
//! them, `envdoc catalog verify` any files, and a refresh what it is about to write.

mod broken;
mod references;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::str::FromStr;

use serde_yaml::Value;

pub use broken::Broken;

use super::embedded::{self, File, Order, Table};
use super::sources::Sources;
use super::version::{Version, compare};

/// Looks up the text of another file of the catalog.
pub type Others<'o> = &'o dyn Fn(&str) -> Option<Cow<'static, str>>;

/// One row with what is around it.
struct Row<'f> {
    file: &'f File,
    table: &'f Table,
    whole: &'f Value,
    key: String,
    value: &'f Value,
}

impl Row<'_> {
    fn broken(&self, rule: &'static str, message: impl Into<String>) -> Broken {
        Broken { file: self.file.name.to_string(), row: self.key.clone(), rule, message: message.into() }
    }
}

/// A rule for single rows: its name, and what is wrong with a row.
type RowRule = (&'static str, fn(&Row<'_>) -> Option<String>);

const ROW_RULES: &[RowRule] = &[
    ("key", has_key),
    ("source", has_source),
    ("checked", has_day),
    ("null", |row| without_nulls(row.value)),
    ("placeholder", |row| without_placeholders(row.value)),
    ("day", |row| days_are_days(row.value)),
    ("specifier", |row| specifiers_are_specifiers(row.value)),
    ("version", versions_are_versions),
];

/// What is wrong with a file; empty when it keeps every rule.
pub fn broken(name: &str, text: &str, others: Others<'_>) -> Vec<Broken> {
    let whole_file =
        |rule, message: String| Broken { file: name.to_owned(), row: String::new(), rule, message };
    let Some(file) = embedded::file_named(name) else {
        return vec![whole_file("name", "the catalog has no file of this name".into())];
    };
    if let Err(error) = (file.provenance)(text) {
        return vec![whole_file("type", error.to_string())];
    }
    let value: Value = match serde_yaml::from_str(text) {
        Ok(value) => value,
        Err(error) => return vec![whole_file("type", error.to_string())],
    };
    let mut broken = Vec::new();
    if !value["checked"].as_str().is_some_and(is_day) {
        broken.push(whole_file("checked", "the file has no day of checking".into()));
    }
    for key in unused_sources(&value) {
        broken.push(whole_file("sources", format!("{key} is used by no row")));
    }
    for table in file.tables {
        let rows = rows(&file, table, &value);
        for row in &rows {
            let wrong = ROW_RULES.iter().filter_map(|(rule, check)| Some(row.broken(rule, check(row)?)));
            broken.extend(wrong);
        }
        broken.extend(order(&rows));
        broken.extend(twice(&rows));
    }
    broken.extend(references::broken(&file, &value, others));
    broken
}

fn rows<'f>(file: &'f File, table: &'f Table, whole: &'f Value) -> Vec<Row<'f>> {
    let rows = whole[table.name].as_sequence().map_or(&[][..], Vec::as_slice);
    rows.iter().map(|value| Row { file, table, whole, key: key(table, value), value }).collect()
}

/// How many rows a text of this file has; none where it is not YAML.
pub fn count(name: &str, text: &str) -> usize {
    let (Some(file), Ok(value)) = (embedded::file_named(name), serde_yaml::from_str::<Value>(text)) else {
        return 0;
    };
    file.tables.iter().map(|table| value[table.name].as_sequence().map_or(0, Vec::len)).sum()
}

/// What names a row: the values of its key fields; of a row of releases, the releases; of a list, its items.
pub fn key(table: &Table, row: &Value) -> String {
    let parts = table.key.iter().map(|field| match &row[*field] {
        Value::Mapping(releases) => releases.keys().filter_map(scalar).collect::<Vec<_>>().join(", "),
        Value::Sequence(list) => list.iter().filter_map(scalar).collect::<Vec<_>>().join(" "),
        value => scalar(value).unwrap_or_default(),
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A scalar as text.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn has_key(row: &Row<'_>) -> Option<String> {
    row.key.is_empty().then(|| format!("the row has no {}", row.table.key.join(", ")))
}

fn has_source(row: &Row<'_>) -> Option<String> {
    let sources = row.value.get("source").unwrap_or(&row.whole["source"]);
    let sources = in_full(sources, row.whole);
    if sources.is_empty() {
        return Some("no source".into());
    }
    let short = sources.iter().find(|source| source.trim().len() <= 3)?;
    Some(format!("{short:?} is no source"))
}

/// A list of sources with the keys of the file written out.
pub fn in_full(sources: &Value, file: &Value) -> Sources {
    let texts = sources.as_sequence().into_iter().flatten().filter_map(Value::as_str);
    let sources = Sources::from(texts.map(str::to_owned).collect::<Vec<_>>());
    sources.in_full(|key| file["sources"][key].as_str())
}

fn has_day(row: &Row<'_>) -> Option<String> {
    let day = row.value.get("checked")?;
    (!day.as_str().is_some_and(is_day)).then(|| format!("{day:?} is no day"))
}

fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Every mapping entry and list item below a value, itself included.
fn walk<'v>(name: &'v str, value: &'v Value, visit: &mut dyn FnMut(&'v str, &'v Value)) {
    visit(name, value);
    match value {
        Value::Sequence(list) => list.iter().for_each(|value| walk(name, value, visit)),
        Value::Mapping(map) => {
            map.iter().for_each(|(key, value)| walk(key.as_str().unwrap_or(name), value, visit));
        }
        _ => {}
    }
}

fn first_wrong(value: &Value, wrong: impl Fn(&str, &Value) -> Option<String>) -> Option<String> {
    let mut message = None;
    walk("", value, &mut |name, value| {
        if message.is_none() {
            message = wrong(name, value);
        }
    });
    message
}

fn without_nulls(value: &Value) -> Option<String> {
    first_wrong(value, |name, value| value.is_null().then(|| format!("{name} is null; leave it out")))
}

fn without_placeholders(value: &Value) -> Option<String> {
    // "none" is a word of its own: an interface without anything. An empty text is a value in three places
    // only: a day, and the specifier of a requirement or of a preset's DeepSpeed.
    const WORDS: &[&str] = &["null", "unknown", "n/a", "?", "tbd"];
    let releases = &value["releases"];
    let requires = &value["requires"];
    let any_deepspeed = &value["deepspeed"];
    let may_be_empty = |value: &Value| {
        [releases, requires]
            .iter()
            .filter_map(|map| map.as_mapping())
            .any(|map| map.values().any(|v| std::ptr::eq(v, value)))
            || std::ptr::eq(any_deepspeed, value)
    };
    first_wrong(value, |name, value| {
        let text = value.as_str()?.trim().to_lowercase();
        let wrong = WORDS.contains(&text.as_str()) || (text.is_empty() && !may_be_empty(value));
        wrong.then(|| format!("{name} is {text:?}; what is not known is left out"))
    })
}

/// Fields that hold a day.
const DAYS: &[&str] = &[
    "checked",
    "released",
    "first_release",
    "end_of_life",
    "latest_date",
    "latest_as_of",
    "seen",
    "image_seen",
    "hub",
];

fn days_are_days(row: &Value) -> Option<String> {
    let field = first_wrong(row, |name, value| {
        let text = value.as_str().filter(|_| DAYS.contains(&name))?;
        (!is_day(text)).then(|| format!("{name}: {text:?} is no day"))
    });
    let releases = || {
        let releases = row["releases"].as_mapping()?;
        let wrong =
            releases.values().find(|day| !day.as_str().is_some_and(|day| day.is_empty() || is_day(day)))?;
        Some(format!("releases: {wrong:?} is no day"))
    };
    field.or_else(releases)
}

/// Fields that hold a PEP 440 specifier.
const SPECIFIERS: &[&str] = &["requires_python"];

fn specifiers_are_specifiers(row: &Value) -> Option<String> {
    let fields = SPECIFIERS.iter().filter_map(|name| row[*name].as_str());
    // Rows with `releases` are those of packages, where `python` is Requires-Python.
    let python = row.get("releases").and_then(|_| row["python"].as_str());
    let requires = row["requires"].as_mapping().into_iter().flatten().filter_map(|(_, value)| value.as_str());
    fields.chain(python).chain(requires).find_map(|text| {
        let error = pep440_rs::VersionSpecifiers::from_str(text).err()?;
        Some(format!("{text:?}: {}", error.to_string().lines().next().unwrap_or_default()))
    })
}

fn versions_are_versions(row: &Row<'_>) -> Option<String> {
    if row.table.order == Order::Versions && Version::parse(&row.key).is_none() {
        return Some(format!("{:?} is no version", row.key));
    }
    let mut releases = row.value["releases"].as_mapping()?.keys();
    let wrong =
        releases.find(|key| key.as_str().is_none_or(|text| pep440_rs::Version::from_str(text).is_err()))?;
    Some(format!("{wrong:?} is no version"))
}

fn order(rows: &[Row<'_>]) -> Vec<Broken> {
    let ascends = |one: &Row<'_>, next: &Row<'_>| match one.table.order {
        Order::Versions => compare(&one.key, &next.key).is_none_or(|order| order.is_lt()),
        Order::Numbers => {
            let number = |row: &Row<'_>| row.key.parse::<u64>().ok();
            number(one).is_some() && number(one) < number(next)
        }
        Order::Alphabet => one.key < next.key,
        Order::Free => true,
    };
    let wrong = rows.windows(2).filter(|pair| !ascends(&pair[0], &pair[1]));
    wrong.map(|pair| pair[1].broken("order", format!("it stands after {}", pair[0].key))).collect()
}

/// Keys that name two rows, and releases that are in two rows.
fn twice(rows: &[Row<'_>]) -> Vec<Broken> {
    let mut seen = BTreeSet::new();
    let mut broken = Vec::new();
    for row in rows {
        let names: Vec<String> = match row.value["releases"].as_mapping() {
            Some(releases) => releases.keys().filter_map(scalar).collect(),
            None => vec![row.key.clone()],
        };
        for name in names {
            if seen.contains(&name) {
                broken.push(row.broken("twice", format!("{name} has two rows")));
            }
            seen.insert(name);
        }
    }
    broken
}

fn unused_sources(file: &Value) -> Vec<String> {
    let Some(sources) = file["sources"].as_mapping() else { return Vec::new() };
    let mut used = BTreeSet::new();
    walk("", file, &mut |name, value| {
        if let ("source", Some(text)) = (name, value.as_str()) {
            used.insert(text.to_owned());
        }
    });
    sources.keys().filter_map(Value::as_str).filter(|key| !used.contains(*key)).map(str::to_owned).collect()
}
