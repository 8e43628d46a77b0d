//! Metadata of a project that no build tool takes.

use pep440_rs::VersionSpecifiers;
use toml::Value;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "project-metadata-invalid",
    severity: Severity::Error,
    summary: "[project] has a version, and its requirements are those of PEP 508",
    explain: include_str!("project_metadata_invalid.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"trainer\"\nversion = \"1\"\nrequires-python = \"^3.10\"\n",
        ),
        named("pyproject.toml", "[project]\nname = \"my trainer\"\nversion = \"1\"\n"),
        named("pyproject.toml", "[project]\nname = \"trainer\"\ndependencies = [\"einops\"]\n"),
        named(
            "pyproject.toml",
            "[project]\nname = \"trainer\"\nversion = \"1\"\ndependencies = [\n    \"einops ^0.8\",\n    \
             \"tqdm = 4.66\",\n]\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"trainer\"\nversion = \"1\"\nrequires-python = \"==3.10\"\n",
        ),
    ],
    silent: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"my-trainer_2\"\ndynamic = [\"version\"]\nrequires-python = \
             \">=3.10,<3.13\"\n\
             dependencies = [\"einops[x] (>=0.8)\", \"tqdm\", \"a @ https://example.com/a.whl\", \"b==1.*; \
             python_version < '3.12'\"]\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry]\nname = \"my trainer\"\n[tool.poetry.dependencies]\npython = \"^3.10\"\n",
        ),
        named("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\n"),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Pyproject {
        return Vec::new();
    }
    let Ok(file) = list.text.parse::<toml::Table>() else { return Vec::new() };
    let Some(project) = file.get("project").and_then(Value::as_table) else { return Vec::new() };
    let text = |key: &str| project.get(key).and_then(Value::as_str);
    let line = |text: &str| list.line_of(text);
    let mut found = Vec::new();
    if let Some(name) = text("name").filter(|name| !is_name(name)) {
        let message = format!("{name:?} is not a package name; build tools refuse the project");
        found.push(Found::error(line(name), message, format!("Write {:?}", name.trim().replace(' ', "-"))));
    }
    let dynamic =
        project.get("dynamic").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let is_dynamic = dynamic.into_iter().any(|key| key == "version");
    let poetry =
        file.get("tool").and_then(|tool| tool.get("poetry")).and_then(|poetry| poetry.get("version"));
    if text("name").is_some() && text("version").is_none() && !is_dynamic && poetry.is_none() {
        let message =
            "[project] has no version, and dynamic does not name it; build tools refuse the project";
        found.push(Found::error(line("[project]"), message, "Add `version = \"0.1.0\"`"));
    }
    if let Some(range) = text("requires-python") {
        let one = range
            .trim()
            .strip_prefix("==")
            .map(str::trim)
            .filter(|version| version.matches('.').count() == 1);
        match range.parse::<VersionSpecifiers>() {
            Err(_) => {
                let message = format!(
                    "requires-python {range:?} is not a version specifier; build tools refuse \
                     the project"
                );
                let number = range.trim_start_matches(['^', '~', '=', '>', '<', ' ']);
                found.push(Found::error(line("requires-python"), message, format!("Write \">={number}\"")));
            }
            Ok(_) if one.is_some_and(|version| !version.ends_with('*')) => {
                let version = one.unwrap_or_default();
                let message =
                    format!("requires-python {range:?} allows {version}.0 alone, and no later patch release");
                found.push(Found::warning(
                    line("requires-python"),
                    message,
                    format!("Write \"=={version}.*\""),
                ));
            }
            Ok(_) => {}
        }
    }
    let own = project.get("dependencies").and_then(Value::as_array);
    let extras = project.get("optional-dependencies").and_then(Value::as_table);
    let extras = extras.into_iter().flat_map(toml::Table::values).filter_map(Value::as_array);
    let all = own.into_iter().chain(extras).flatten().filter_map(Value::as_str);
    found.extend(all.filter_map(|one| {
        requirement(one).map(|why| {
            let message = format!("{one:?} is not a requirement ({why}); build tools refuse the project");
            Found::error(line(one), message, "Write it like \"name>=1.0,<2\"")
        })
    }));
    found
}

/// A name as PEP 508 has it.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    let ends =
        bytes.first().is_some_and(|byte| letter(*byte)) && bytes.last().is_some_and(|byte| letter(*byte));
    ends && bytes.iter().all(|byte| letter(*byte) || b"-_.".contains(byte))
}

/// Why a text is no requirement, where that is certain.
fn requirement(text: &str) -> Option<&'static str> {
    let bare = text.split(';').next().unwrap_or_default().trim();
    let end = bare.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(bare.len());
    let rest = bare[end..].trim_start();
    let rest = if rest.starts_with('[') { rest.split_once(']')?.1.trim_start() } else { rest };
    let rest = rest.trim_start_matches('(').trim_end_matches(')').trim();
    if rest.is_empty()
        || rest.starts_with('@')
        || rest.starts_with("===")
        || rest.parse::<VersionSpecifiers>().is_ok()
    {
        return None;
    }
    match rest {
        _ if rest.starts_with('^') => Some("`^` is Poetry's"),
        _ if rest.starts_with('=') && !rest.starts_with("==") => Some("`==` is meant"),
        _ if rest.starts_with(|letter: char| letter.is_ascii_digit()) => Some("an operator is missing"),
        _ => None,
    }
}
