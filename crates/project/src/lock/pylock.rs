//! `pylock.toml` (PEP 751).

use std::collections::BTreeMap;

use resolve::parse::package_name;
use serde::Deserialize;
use toml::Spanned;

use super::toml_file::{TomlFile, is_strong, of_index, requires_python};
use super::{Condition, Lock, LockFormat, Locked, LockedSource, Roots};
use crate::error::ProjectError;
use crate::not_read::Reason;

/// The major version of the format that is read: a newer minor version adds what may be ignored (PEP 751).
const VERSIONS: &[&str] = &["1"];

#[derive(Debug, Deserialize)]
struct File {
    #[serde(rename = "lock-version")]
    version: Option<String>,
    #[serde(rename = "requires-python")]
    python: Option<Spanned<String>>,
    #[serde(default)]
    environments: Vec<String>,
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: Spanned<String>,
    version: Option<String>,
    marker: Option<String>,
    index: Option<String>,
    vcs: Option<toml::Table>,
    directory: Option<toml::Table>,
    archive: Option<toml::Table>,
    sdist: Option<Artifact>,
    #[serde(default)]
    wheels: Vec<Artifact>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

pub(super) fn read(name: &str, text: &str) -> Result<Lock, ProjectError> {
    let file = TomlFile::new(name, text);
    let parsed: File = file.parse()?;
    file.known(parsed.version.as_deref().and_then(|version| version.split('.').next()), VERSIONS)?;
    let python = parsed.python.as_ref().map(|python| requires_python(&file, python)).transpose()?;
    let packages = parsed.packages.into_iter();
    Ok(Lock {
        file: name.to_owned(),
        format: LockFormat::Pylock,
        python,
        environments: parsed.environments,
        packages: packages.map(|one| package(&file, one)).collect::<Result<_, _>>()?,
        roots: Roots::Everything,
    })
}

fn package(file: &TomlFile<'_>, one: Package) -> Result<Locked, ProjectError> {
    let (line, name) = (file.line_of(&one.name), one.name.get_ref());
    let version = one.version.as_deref().map(|version| file.version(line, name, version)).transpose()?;
    let source = match &one {
        Package { vcs: Some(_), .. } => LockedSource::Elsewhere(Reason::Vcs),
        Package { directory: Some(_), .. } => LockedSource::Elsewhere(Reason::Path),
        Package { archive: Some(_), .. } => LockedSource::Elsewhere(Reason::Address),
        Package { index, .. } => of_index(index.as_deref()),
    };
    let artifacts = one.sdist.into_iter().chain(one.wheels);
    let hashes =
        artifacts.flat_map(|one| one.hashes.into_iter().map(|(kind, hash)| format!("{kind}:{hash}")));
    Ok(Locked {
        name: package_name(name),
        version,
        line,
        source,
        directory: None,
        hashes: hashes.filter(|hash| is_strong(hash)).collect(),
        condition: Condition { marker: one.marker, ..Condition::default() },
        dependencies: Vec::new(),
        extras: BTreeMap::new(),
        groups: BTreeMap::new(),
    })
}
