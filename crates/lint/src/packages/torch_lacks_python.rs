//! A torch that has no wheel for the Python that the same list fixes.

use std::ops::Range;
use std::str::FromStr;

use pep440_rs::Version;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::read::project;
use crate::rule::{Found, Judge, Rule, Severity, named};
use ::project::requirements::lines::lines;

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
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.13,<3.14\"\ndependencies = \
             [\n  \"torch==2.4.1\",\n]\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.13\"\ndependencies = \
             [\"numpy\"]\n[project.optional-dependencies]\ngpu = [\"torch==2.4.1\"]\n",
        ),
    ],
    silent: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.12,<3.14\"\ndependencies = \
             [\"torch==2.4.1\"]\n",
        ),
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
    each(list, |text, line, range| lacks(list, text, line, range))
}

/// What is found in the requirements of a list that fixes its Python: text, line, minor releases.
pub(super) fn each(list: &PackageList, of: impl Fn(&str, usize, &Range<u64>) -> Option<Found>) -> Vec<Found> {
    let (sets, python) = match list.kind {
        Kind::Conda => (project::conda(&list.text), of_conda(&list.text).as_deref().and_then(only)),
        Kind::Pyproject => (project::pyproject(&list.text).unwrap_or_default(), of_project(&list.text)),
        _ => return Vec::new(),
    };
    let Some(range) = python else { return Vec::new() };
    sets.iter().flat_map(|set| lines(set)).filter_map(|line| of(&line.text, line.line, &range)).collect()
}

/// Minor releases of Python 3 as messages name them: `3.12 or newer`.
pub(super) fn named_range(range: &Range<u64>) -> String {
    match range.end == range.start + 1 {
        true => format!("3.{}", range.start),
        false => format!("3.{} or newer", range.start),
    }
}

fn lacks(list: &PackageList, text: &str, line: usize, range: &Range<u64>) -> Option<Found> {
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
    let minor = |one: &String| one.strip_prefix("3.").and_then(|minor| minor.parse::<u64>().ok());
    let has = |list: &[String]| list.iter().any(|one| minor(one).is_none_or(|minor| range.contains(&minor)));
    let series = named_range(range);
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

/// The minor releases of Python that a project allows, with a lower bound: `==3.12.*`, `>=3.12,<3.13`.
fn of_project(text: &str) -> Option<Range<u64>> {
    let file = text.parse::<toml::Table>().ok()?;
    let declared = file.get("project")?.get("requires-python")?.as_str()?;
    let (mut from, mut end) = (None, u64::MAX);
    for part in declared.split(',').map(str::trim) {
        let bare = |sign: &str| part.strip_prefix(sign).map(|rest| rest.trim().trim_end_matches(".*"));
        if let Some(version) = bare("==") {
            return only(&series(version)?);
        }
        if let Some(version) = bare("~=") {
            let range = only(&series(version)?)?;
            let open = version.split('.').count() == 2;
            return Some(if open { range.start..u64::MAX } else { range });
        }
        if let Some(version) = bare(">=") {
            from = Some(only(&series(version)?)?.start);
        } else if let Some(version) = bare("<=") {
            end = only(&series(version)?)?.end;
        } else if let Some(version) = bare("<") {
            end = match version.split('.').count() {
                1 => u64::MAX,
                2 => only(&series(version)?)?.start,
                _ => only(&series(version)?)?.end,
            };
        } else {
            return None;
        }
    }
    from.filter(|from| *from < end).map(|from| from..end)
}

/// One minor release of Python 3.
fn only(series: &str) -> Option<Range<u64>> {
    let minor: u64 = series.strip_prefix("3.")?.parse().ok()?;
    Some(minor..minor + 1)
}

/// `3.12` of `3.12.4`.
fn series(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (number(major) && number(minor)).then(|| format!("{major}.{minor}"))
}
