//! A torch that has no wheel for the Python that the same list fixes.

use std::str::FromStr;

use pep440_rs::Version;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::read::project;
use crate::read::requirements::lines;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "torch-lacks-python",
    severity: Severity::Error,
    summary: "torch has wheels for the Python of its conda environment or project",
    explain: include_str!("torch_lacks_python.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "environment.yml",
            "dependencies:\n  - python=3.12\n  - pip\n  - pip:\n      - --extra-index-url \
             https://download.pytorch.org/whl/cu121\n      - torch==2.1.2+cu121\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \"==3.13.*\"\ndependencies = \
             [\"torch==2.4.1\"]\n",
        ),
    ],
    silent: &[
        named(
            "environment.yml",
            "dependencies:\n  - python=3.11\n  - pip\n  - pip:\n      - --extra-index-url \
             https://download.pytorch.org/whl/cu121\n      - torch==2.1.2+cu121\n",
        ),
        named("environment.yml", "dependencies:\n  - python>=3.10\n  - pip:\n      - torch==2.1.2\n"),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.10\"\ndependencies = \
             [\"torch==2.1.2\"]\n",
        ),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    let (sets, python) = match list.kind {
        Kind::Conda => (project::conda(&list.text), of_conda(&list.text)),
        Kind::Pyproject => (project::pyproject(&list.text).unwrap_or_default(), of_project(&list.text)),
        _ => return Vec::new(),
    };
    let Some(series) = python else { return Vec::new() };
    sets.iter()
        .flat_map(|set| lines(set))
        .filter_map(|line| lacks(list, &line.text, line.line, &series))
        .collect()
}

fn lacks(list: &PackageList, text: &str, line: usize, series: &str) -> Option<Found> {
    let (requirement, marker) = text.split_once(';').unwrap_or((text, ""));
    let (name, version) = requirement.split_once("==")?;
    let version = Version::from_str(version.trim()).ok()?;
    let public = version.to_string();
    let public = public.split('+').next()?;
    if name.trim() != "torch" || !marker.trim().is_empty() {
        return None;
    }
    let release = list.catalog.torch().release(public)?;
    let build =
        version.to_string().split_once('+').and_then(|(_, local)| release.build(local)?.pythons.clone());
    let pythons = release.pythons.as_ref()?;
    let has = |list: &[String]| list.iter().any(|one| one == series);
    if has(pythons) || build.is_some_and(|build| has(&build)) {
        return None;
    }
    let message = format!(
        "torch {public} has no wheel for Python {series}, only for Python {}; no distribution matches",
        pythons.join(", ")
    );
    let fitting = list.catalog.torch().all().iter().find(|one| {
        one.pythons.as_deref().is_some_and(has)
            && Version::from_str(&one.version).is_ok_and(|one| one > version)
    });
    let fix = match fitting {
        Some(release) => format!("Use torch=={} or newer, or another Python", release.version),
        None => "Use another Python".to_owned(),
    };
    Some(Found::error(line, message, fix))
}

/// The Python of an environment, where it is one: `python=3.12`, `python=3.12.4`.
fn of_conda(text: &str) -> Option<String> {
    let items = text.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let pin =
        items.filter_map(|item| item.trim().trim_matches(['"', '\'']).strip_prefix("python=")).next()?;
    series(pin.trim_start_matches('=').split(['=', ' ', '#']).next()?.trim_end_matches(".*"))
}

/// The Python of a project, where it is one: `==3.12.*`.
fn of_project(text: &str) -> Option<String> {
    let file = text.parse::<toml::Table>().ok()?;
    let declared = file.get("project")?.get("requires-python")?.as_str()?;
    series(declared.trim().strip_prefix("==")?.trim().trim_end_matches(".*"))
}

/// `3.12` of `3.12.4`.
fn series(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (number(major) && number(minor)).then(|| format!("{major}.{minor}"))
}
