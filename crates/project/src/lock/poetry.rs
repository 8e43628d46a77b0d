//! `poetry.lock`.

use std::collections::BTreeMap;

use pep440_rs::VersionSpecifiers;
use resolve::parse::package_name;
use serde::Deserialize;
use toml::Spanned;

use super::toml_file::{OneOrMany, TomlFile, is_strong, of_index};
use super::{Condition, Edge, Grouped, Lock, LockFormat, Locked, LockedSource, Roots};
use crate::declared::{Declared, PythonRange};
use crate::error::ProjectError;
use crate::not_read::Reason;
use crate::poetry_constraint::specifiers;

/// Versions of the format that are read: of Poetry 1.3 to 2.
const VERSIONS: &[&str] = &["2.0", "2.1"];
/// Since this one every package has its groups.
const WITH_GROUPS: &str = "2.1";

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, rename = "package")]
    packages: Vec<Package>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(rename = "lock-version")]
    version: Option<String>,
    #[serde(rename = "python-versions")]
    python: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: Spanned<String>,
    version: String,
    #[serde(default)]
    optional: bool,
    groups: Option<Vec<String>>,
    markers: Option<Markers>,
    #[serde(default)]
    files: Vec<Artifact>,
    #[serde(default)]
    dependencies: BTreeMap<String, OneOrMany<Dependency>>,
    #[serde(default)]
    extras: BTreeMap<String, Vec<String>>,
    source: Option<Source>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Markers {
    OfAll(String),
    OfGroups(BTreeMap<String, String>),
}

#[derive(Debug, Deserialize)]
struct Artifact {
    hash: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Dependency {
    Version(String),
    Table {
        version: Option<String>,
        markers: Option<String>,
        #[serde(default)]
        optional: bool,
        #[serde(default)]
        extras: Vec<String>,
    },
}

#[derive(Debug, Deserialize)]
struct Source {
    r#type: Option<String>,
    url: Option<String>,
}

pub(super) fn read(name: &str, text: &str) -> Result<Lock, ProjectError> {
    let file = TomlFile::new(name, text);
    let parsed: File = file.parse()?;
    let version = parsed.metadata.version.as_deref();
    file.known(version, VERSIONS)?;
    let roots = if version == Some(WITH_GROUPS) { Roots::Everything } else { Roots::Declared };
    let packages = parsed.packages.into_iter();
    Ok(Lock {
        file: name.to_owned(),
        format: LockFormat::Poetry,
        python: parsed.metadata.python.as_ref().and_then(|python| of_python(&file, python)),
        environments: Vec::new(),
        packages: packages.map(|one| package(&file, one)).collect::<Result<_, _>>()?,
        roots,
    })
}

/// The Python of a lock; `None`: any, or PEP 440 cannot express it.
fn of_python(file: &TomlFile<'_>, python: &Spanned<String>) -> Option<Declared<PythonRange>> {
    let range = specifiers(python.get_ref()).filter(|range| !range.is_empty())?;
    Some(file.python("python-versions", python, range))
}

fn package(file: &TomlFile<'_>, one: Package) -> Result<Locked, ProjectError> {
    let (line, name) = (file.line_of(&one.name), one.name.get_ref());
    let version = file.version(line, name, &one.version)?;
    let source = match one.source.as_ref().map(|source| (source.r#type.as_deref(), source.url.as_deref())) {
        None => LockedSource::Index(None),
        Some((Some("legacy"), url)) => of_index(url),
        Some((Some("git"), _)) => LockedSource::Elsewhere(Reason::Vcs),
        Some((Some("url"), _)) => LockedSource::Elsewhere(Reason::Address),
        Some(_) => LockedSource::Elsewhere(Reason::Path),
    };
    let all: Vec<(Edge, bool)> = one.dependencies.into_iter().flat_map(edges).collect();
    let extras = one.extras.iter().map(|(extra, members)| {
        let named = |edge: &&Edge| members.iter().any(|member| member_name(member) == edge.name);
        let edges = all.iter().filter(|(_, optional)| *optional).map(|(edge, _)| edge);
        (package_name(extra), edges.filter(named).cloned().collect())
    });
    Ok(Locked {
        name: package_name(name),
        version: Some(version),
        line,
        source,
        directory: None,
        hashes: one.files.into_iter().filter_map(|file| file.hash).filter(|hash| is_strong(hash)).collect(),
        extras: extras.collect(),
        condition: condition(one.groups, one.markers, one.optional),
        dependencies: all.into_iter().filter(|(_, optional)| !optional).map(|(edge, _)| edge).collect(),
        groups: BTreeMap::new(),
    })
}

/// The name in `numpy (>=1.24)`.
fn member_name(text: &str) -> String {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
    package_name(&text[..end.unwrap_or(text.len())])
}

fn condition(groups: Option<Vec<String>>, markers: Option<Markers>, optional: bool) -> Condition {
    let (of_all, of_groups) = match markers {
        None => (None, BTreeMap::new()),
        Some(Markers::OfAll(marker)) => (Some(marker), BTreeMap::new()),
        Some(Markers::OfGroups(markers)) => (None, markers),
    };
    let groups = groups.map(|groups| {
        let group = |name: String| Grouped { marker: of_groups.get(&name).cloned(), name };
        groups.into_iter().map(group).collect()
    });
    Condition { marker: of_all, groups, optional }
}

/// The versions of a constraint; one that is no range of PEP 440 allows any.
fn versions(text: &str) -> VersionSpecifiers {
    specifiers(text).unwrap_or_default()
}

fn edges((name, all): (String, OneOrMany<Dependency>)) -> Vec<(Edge, bool)> {
    let edge = |one: Dependency| match one {
        Dependency::Version(version) => {
            (Edge { name: package_name(&name), versions: versions(&version), ..Edge::default() }, false)
        }
        Dependency::Table { version, markers, optional, extras } => {
            let extras = extras.iter().map(|extra| package_name(extra)).collect();
            let versions = version.as_deref().map(versions).unwrap_or_default();
            (
                Edge { name: package_name(&name), extras, marker: markers, versions, ..Edge::default() },
                optional,
            )
        }
    };
    all.into_vec().into_iter().map(edge).collect()
}
