//! A project for Pythons that one of its packages does not support, where all of them are resolved.

use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifiers};
use toml::Value;

use crate::kind::Kind;
use crate::pythons_required;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};
use ::project::poetry_constraint::specifiers as constraint;

pub(crate) const RULE: Rule = Rule {
    id: "requires-python-too-wide",
    severity: Severity::Error,
    summary: "the pinned packages support every Python of a project of uv or Poetry",
    explain: include_str!("requires_python_too_wide.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = [\n    \
             \"torch==2.6.0\",\n]\n[tool.uv]\npackage = false\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \"~=3.9\"\n\
             [project.optional-dependencies]\nfast = [\"numpy>=2.1\"]\n[[tool.uv.index]]\nname = \"x\"\nurl \
             = \
             \"https://download.pytorch.org/whl/cu124\"\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = [\n    \
             \"jax[cuda12]==0.4.30\",\n    \"absl-py\",\n]\n[tool.uv]\ndev-dependencies = \
             [\"pytest>=8.0\"]\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry]\nname = \"a\"\nversion = \"1\"\n[tool.poetry.dependencies]\npython = \"^3.8\"\n\
             torch = \"2.6.0\"\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = \">=3.8,<3.12\"\ntorch = {version = \"^2.6\", extras = \
             [\"x\"]}\n",
        ),
    ],
    silent: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = \
             [\"jax==0.4.30\", \"jaxlib<0.5\", \"matplotlib>=3.7\"]\n[tool.uv]\npackage = false\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = \
             [\"torch==2.6.0\"]\n[tool.uv]\npackage = false\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = \
             [\"torch\", \
             \"numpy>=1.20\", \"torch==2.6.0; python_version >= '3.9'\"]\n[tool.uv]\npackage = false\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = \
             [\"torch==2.6.0\"]\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = \
             [\"torch==2.6.0\"]\n[tool.uv]\nenvironments = [\"python_version >= '3.9'\"]\n",
        ),
        named(
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = \"^3.10\"\ntorch = \"^2.6\"\nnumpy = {version = \"2.1.0\", \
             python = \">=3.10\"}\n",
        ),
    ],
};

/// A project as its tool resolves it.
struct Project {
    /// For people.
    tool: &'static str,
    /// The range of Pythons as written, and the versions that it allows.
    written: String,
    pythons: VersionSpecifiers,
    /// Packages with the versions that are allowed, and how they are written.
    packages: Vec<(String, VersionSpecifiers, String)>,
}

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Pyproject {
        return Vec::new();
    }
    let Ok(file) = list.text.parse::<toml::Table>() else { return Vec::new() };
    let Some(project) = of_uv(&file).or_else(|| of_poetry(&file)) else { return Vec::new() };
    let Some(lowest) = lowest(&project.pythons) else { return Vec::new() };
    // One is enough: the others want the same change.
    let worst = project.packages.iter().filter_map(|(name, versions, written)| {
        let needed = needed(list, name, versions)?;
        (needed > lowest).then_some((needed, written))
    });
    let Some((needed, written)) = worst.max_by_key(|(needed, _)| *needed) else { return Vec::new() };
    let message = format!(
        "{} resolves for all of Python {:?}, from 3.{lowest} on, but {written} requires Python 3.{needed} \
         or newer; \
         no solution is found",
        project.tool, project.written
    );
    let key = if project.tool == "uv" { "requires-python" } else { "python" };
    let line = list.text.lines().position(|line| {
        line.split_once('=')
            .is_some_and(|(name, value)| name.trim() == key && value.contains(project.written.as_str()))
    });
    let fix = format!("Set {key} to \">=3.{needed}\", or use an older release");
    vec![Found::error(line.map_or(1, |index| index + 1), message, fix)]
}

/// A project with settings of uv; its extras and groups are resolved with it.
fn of_uv(file: &toml::Table) -> Option<Project> {
    let uv = file.get("tool")?.get("uv")?;
    // They leave out Pythons, or change what is asked for.
    let narrowed = ["environments", "override-dependencies", "dependency-groups", "conflicts", "workspace"];
    if narrowed.iter().any(|key| uv.get(key).is_some()) {
        return None;
    }
    let project = file.get("project")?;
    let written = project.get("requires-python")?.as_str()?;
    let own = project.get("dependencies");
    let extras = project.get("optional-dependencies");
    let tables = extras.into_iter().chain(file.get("dependency-groups")).filter_map(Value::as_table);
    let lists = own.into_iter().chain(tables.flat_map(toml::Table::values));
    let texts = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let sources = uv.get("sources").and_then(Value::as_table);
    let packages = texts.filter_map(|text| {
        let (name, versions) = requirement(text)?;
        // A source of its own may have other builds; an index has the same releases.
        let source = sources.and_then(|sources| sources.get(&name));
        let elsewhere = source.is_some_and(|source| source.get("index").is_none());
        (!elsewhere).then(|| (name, versions, text.to_owned()))
    });
    Some(Project {
        tool: "uv",
        written: written.to_owned(),
        pythons: written.parse().ok()?,
        packages: packages.collect(),
    })
}

/// `torch[extra]==2.6.0`; `None` for one that holds only sometimes, or comes from an address.
fn requirement(text: &str) -> Option<(String, VersionSpecifiers)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let rest = if rest.starts_with('[') { rest.split_once(']')?.1 } else { rest };
    let versions = rest.trim().trim_start_matches('(').trim_end_matches(')');
    if versions.contains([';', '@']) {
        return None;
    }
    Some((name.to_ascii_lowercase().replace(['_', '.'], "-"), versions.parse().ok()?))
}

/// A project of Poetry with its own table of packages.
fn of_poetry(file: &toml::Table) -> Option<Project> {
    let table = file.get("tool")?.get("poetry")?.get("dependencies")?.as_table()?;
    let written = table.get("python")?.as_str()?;
    let packages = table.iter().filter(|(name, _)| *name != "python").filter_map(|(name, value)| {
        let limited = ["python", "markers", "platform", "git", "url", "path"];
        let text = match value {
            Value::String(text) => text.as_str(),
            Value::Table(value) if limited.iter().all(|key| value.get(*key).is_none()) => {
                value.get("version")?.as_str()?
            }
            _ => return None,
        };
        let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
        Some((name.clone(), constraint(text)?, format!("{name} {text}")))
    });
    Some(Project {
        tool: "Poetry",
        written: written.to_owned(),
        pythons: constraint(written).filter(|range| !range.is_empty())?,
        packages: packages.collect(),
    })
}

/// The lowest minor release of Python 3 that specifiers allow.
fn lowest(pythons: &VersionSpecifiers) -> Option<u64> {
    (0..30).find(|minor| allows(pythons, *minor))
}

/// Whether specifiers allow a patch release of Python 3.`minor`.
fn allows(pythons: &VersionSpecifiers, minor: u64) -> bool {
    let releases = (0..40).map(|patch| Version::new([3, minor, patch]));
    releases.into_iter().any(|release| pythons.contains(&release))
}

/// The lowest Python that any of the allowed releases supports; `None` where a release may be allowed that is
/// not known.
fn needed(list: &PackageList, name: &str, versions: &VersionSpecifiers) -> Option<u64> {
    let bound = versions.iter().find(|one| {
        matches!(
            one.operator(),
            Operator::Equal | Operator::EqualStar | Operator::GreaterThanEqual | Operator::TildeEqual
        )
    });
    let bound = bound?.version();
    if pythons_required::is_known(name) {
        return pythons_required::lowest(name, bound);
    }
    let releases: Vec<(&str, &str)> = match name {
        "torch" => {
            let all = list.catalog.torch().all().iter();
            all.filter_map(|one| Some((one.version.as_str(), one.requires_python.as_deref()?))).collect()
        }
        _ => {
            let package = list.catalog.package(name).filter(|package| !package.sample)?;
            let rows = package.rows.iter().filter_map(|row| Some((row, row.python.as_deref()?)));
            rows.flat_map(|(row, python)| row.releases.keys().map(move |version| (version.as_str(), python)))
                .collect()
        }
    };
    let mut known =
        releases.iter().filter_map(|(version, python)| Some((Version::from_str(version).ok()?, *python)));
    // An older one would not be in the table.
    let oldest = known.clone().map(|(version, _)| version).min()?;
    if oldest > *bound {
        return None;
    }
    // What a release asks for at most does not count: newer Pythons are tried with it.
    known
        .by_ref()
        .filter(|(version, _)| versions.contains(version))
        .filter_map(|(_, python)| lowest(&python.parse().ok()?))
        .min()
}
