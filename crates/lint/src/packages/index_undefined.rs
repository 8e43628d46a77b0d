//! A package comes from an index that the file does not define.

use std::collections::{BTreeMap, BTreeSet};

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "index-undefined",
    severity: Severity::Error,
    summary: "indexes that sources name are defined in the same file",
    explain: include_str!("index_undefined.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\"]\n[[tool.uv.index]]\nname \
             = \"cpu\"\n\
             url = \"https://example.com/cpu\"\n[tool.uv.sources]\ntorch = { index = \"cuda\" }\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntorch = { version = \"2.5.1\", source = \"pytorch\" }\n",
        ),
        named(
            "pyproject.toml",
            "[tool.uv.sources]\ntorch = [{ index = \"cuda\", marker = \"sys_platform == 'linux'\" }]\n",
        ),
    ],
    silent: &[
        named(
            "pyproject.toml",
            "[[tool.uv.index]]\nname = \"cu124\"\nurl = \"https://example.com/cu124\"\n[tool.uv.sources]\n\
             torch = [{ index = \"cu124\", extra = \"gpu\" }]\nlocal = { path = \"../local\" }\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntorch = { version = \"2.5.1\", source = \"pytorch\" }\n\
             [[tool.poetry.source]]\n\
             name = \"pytorch\"\nurl = \"https://example.com/cpu\"\n",
        ),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Pyproject {
        return Vec::new();
    }
    let Ok(file) = list.text.parse::<toml::Table>() else { return Vec::new() };
    let tool = |name: &str| file.get("tool").and_then(|tool| tool.get(name));
    let quoted = quoted(&list.text);
    let mut found = Vec::new();
    if let Some(uv) = tool("uv") {
        let defined = names(uv.get("index"));
        let sources = uv.get("sources").and_then(toml::Value::as_table);
        for (package, source) in sources.into_iter().flatten() {
            found.extend(undefined(&quoted, package, source, "index", &defined, "[[tool.uv.index]]"));
        }
    }
    if let Some(poetry) = tool("poetry") {
        let mut defined = names(poetry.get("source"));
        defined.insert("pypi".to_owned());
        let groups = poetry.get("group").and_then(toml::Value::as_table);
        let groups = groups
            .into_iter()
            .flat_map(|groups| groups.values().filter_map(|group| group.get("dependencies")));
        let tables = poetry.get("dependencies").into_iter().chain(groups).filter_map(toml::Value::as_table);
        for (package, source) in tables.flatten() {
            found.extend(undefined(&quoted, package, source, "source", &defined, "[[tool.poetry.source]]"));
        }
    }
    found
}

/// The names of indexes, in small letters.
fn names(indexes: Option<&toml::Value>) -> BTreeSet<String> {
    let all = indexes.and_then(toml::Value::as_array).into_iter().flatten();
    all.filter_map(|index| index.get("name")?.as_str()).map(str::to_ascii_lowercase).collect()
}

/// The lines, numbered from 1, by the texts in double quotes in them.
type Quoted<'t> = BTreeMap<&'t str, Vec<(usize, &'t str)>>;

fn quoted(text: &str) -> Quoted<'_> {
    let mut found: Quoted<'_> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        for one in line.split('"').skip(1).step_by(2) {
            found.entry(one).or_default().push((index + 1, line.trim_start()));
        }
    }
    found
}

fn undefined(
    quoted: &Quoted<'_>,
    package: &str,
    source: &toml::Value,
    key: &str,
    defined: &BTreeSet<String>,
    table: &str,
) -> Option<Found> {
    let one = std::slice::from_ref(source);
    let all = source.as_array().map_or(one, Vec::as_slice);
    let name = all
        .iter()
        .filter_map(|one| one.get(key)?.as_str())
        .find(|name| !defined.contains(&name.to_ascii_lowercase()))?;
    let lines = quoted.get(name).map(Vec::as_slice).unwrap_or_default();
    let sets = |line: &str| {
        let rest = line.trim_start_matches('"').strip_prefix(package);
        rest.is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(['=', '.']))
    };
    let line = lines.iter().find(|(_, line)| sets(line));
    // A table of its own: `[tool.uv.sources.torch]`.
    let line = line.or_else(|| lines.iter().find(|(_, line)| line.starts_with(key)));
    let line = line.or_else(|| lines.iter().find(|(_, line)| line.contains(key)));
    let near = match defined.iter().find(|known| known.as_str() != "pypi") {
        Some(known) => format!("; defined is {known}"),
        None => String::new(),
    };
    let message = format!("{package} comes from the index {name}, which no {table} defines{near}");
    let found = Found::error(
        line.map_or(1, |(number, _)| *number),
        message,
        format!("Define it in {table}, or use a defined name"),
    );
    // A member of a workspace may take it from the file of the workspace.
    let certain = defined.iter().any(|known| known.as_str() != "pypi") || table.contains("poetry");
    Some(found.unless_certain(certain))
}
