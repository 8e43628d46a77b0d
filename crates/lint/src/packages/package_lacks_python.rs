//! A package that has no wheel for the Python that the same list fixes, and no source.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

use super::torch_lacks_python::{each, named_range};

pub(crate) const RULE: Rule = Rule {
    id: "package-lacks-python",
    severity: Severity::Error,
    summary: "TensorFlow has wheels for the Python of its conda environment or project",
    explain: include_str!("package_lacks_python.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "environment.yml",
            "dependencies:\n  - python=3.11\n  - pip\n  - pip:\n      - tensorflow==2.11.0\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.13\"\ndependencies = \
             [\"tensorflow[and-cuda]==2.18.0\"]\n",
        ),
    ],
    silent: &[
        named(
            "environment.yml",
            "dependencies:\n  - python=3.10\n  - pip\n  - pip:\n      - tensorflow==2.11.0\n",
        ),
        named("environment.yml", "dependencies:\n  - python=3.12\n  - tensorflow=2.15\n"),
        named("environment.yml", "dependencies:\n  - python=3.12\n  - pip:\n      - tensorflow>=2.15\n"),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.10\"\ndependencies = \
             [\"tensorflow==2.15.1\"]\n",
        ),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    each(list, |text, line, range| {
        let (requirement, marker) = text.split_once(';').unwrap_or((text, ""));
        let (name, version) = requirement.split_once("==")?;
        let name = name.split('[').next()?.trim();
        let version = Version::from_str(version.trim()).ok().filter(|one| !one.any_prerelease())?;
        let row = list.catalog.wheel_pythons().of(name, &version).filter(|_| marker.trim().is_empty())?;
        let minor = |one: &String| one.strip_prefix("3.").and_then(|minor| minor.parse::<u64>().ok());
        if row.pythons.iter().filter_map(minor).any(|minor| range.contains(&minor)) {
            return None;
        }
        let message = format!(
            "{name} {version} has no wheel for Python {}, only for Python {}; no distribution matches",
            named_range(range),
            row.pythons.join(", ")
        );
        let fix = format!("Use Python {}, or another release of {name}", row.pythons.last()?);
        Some(Found::error(line, message, fix).about(name))
    })
}
