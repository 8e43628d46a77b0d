//! `uv.lock`.

use std::collections::BTreeMap;

use pep440_rs::VersionSpecifiers;
use resolve::parse::package_name;
use serde::Deserialize;
use toml::Spanned;

use super::toml_file::{OneOrMany, TomlFile, is_strong, of_index, requires_python};
use super::{Condition, Edge, Lock, LockFormat, Locked, LockedSource, Roots};
use crate::error::ProjectError;
use crate::not_read::Reason;

/// Versions of the format that are read. Its revisions change nothing that is read here.
const VERSIONS: &[&str] = &["1"];

#[derive(Debug, Deserialize)]
struct File {
    version: Option<u32>,
    #[serde(rename = "requires-python")]
    python: Option<Spanned<String>>,
    #[serde(default, rename = "supported-markers")]
    environments: Vec<String>,
    #[serde(default)]
    manifest: Manifest,
    #[serde(default, rename = "package")]
    packages: Vec<Package>,
}

#[derive(Debug, Default, Deserialize)]
struct Manifest {
    #[serde(default)]
    members: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: Spanned<String>,
    version: Option<String>,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(default, rename = "optional-dependencies")]
    extras: BTreeMap<String, Vec<Dependency>>,
    #[serde(default, rename = "dev-dependencies")]
    groups: BTreeMap<String, Vec<Dependency>>,
    sdist: Option<Artifact>,
    #[serde(default)]
    wheels: Vec<Artifact>,
}

/// Exactly one of these keys.
#[derive(Debug, Default, Deserialize)]
struct Source {
    registry: Option<String>,
    git: Option<String>,
    url: Option<String>,
    path: Option<String>,
    directory: Option<String>,
    editable: Option<String>,
    r#virtual: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    version: Option<String>,
    source: Option<Source>,
    #[serde(default)]
    extra: Option<OneOrMany<String>>,
    marker: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    hash: Option<String>,
}

pub(super) fn read(name: &str, text: &str) -> Result<Lock, ProjectError> {
    let file = TomlFile::new(name, text);
    let parsed: File = file.parse()?;
    let version = parsed.version.map(|version| version.to_string());
    file.known(version.as_deref(), VERSIONS)?;
    let python = parsed.python.as_ref().map(|python| requires_python(&file, python)).transpose()?;
    let roots = roots(&parsed);
    let packages = parsed.packages.into_iter();
    let packages: Vec<Locked> = packages.map(|one| package(&file, one)).collect::<Result<_, _>>()?;
    Ok(Lock {
        file: name.to_owned(),
        format: LockFormat::Uv,
        python,
        environments: parsed.environments,
        packages,
        roots: Roots::Packages(roots),
    })
}

/// The project in the directory of the lock; without one, every member of the workspace.
fn roots(file: &File) -> Vec<usize> {
    let indexes = |is: &dyn Fn(&Package) -> bool| {
        let all = file.packages.iter().enumerate();
        all.filter(|(_, one)| is(one)).map(|(index, _)| index).collect::<Vec<_>>()
    };
    let own = indexes(&|one| one.source.is_at("."));
    match own.is_empty() {
        true => indexes(&|one| file.manifest.members.contains(one.name.get_ref())),
        false => own,
    }
}

impl Source {
    fn is_at(&self, directory: &str) -> bool {
        [&self.r#virtual, &self.editable].into_iter().flatten().any(|path| path == directory)
    }

    /// Of a package whose code lies in the repository.
    fn directory(&self) -> Option<String> {
        let Source { directory, editable, r#virtual, .. } = self;
        [editable, r#virtual, directory].into_iter().flatten().next().cloned()
    }

    fn locked(&self) -> LockedSource {
        let Source { registry, git, url, path, directory, editable, r#virtual } = self;
        match () {
            () if registry.is_some() => of_index(registry.as_deref()),
            () if self.is_at(".") || r#virtual.is_some() => LockedSource::Own,
            () if editable.is_some() => LockedSource::Elsewhere(Reason::Editable),
            () if git.is_some() => LockedSource::Elsewhere(Reason::Vcs),
            () if url.is_some() => LockedSource::Elsewhere(Reason::Address),
            () if path.is_some() || directory.is_some() => LockedSource::Elsewhere(Reason::Path),
            () => LockedSource::Index(None),
        }
    }
}

fn package(file: &TomlFile<'_>, one: Package) -> Result<Locked, ProjectError> {
    let (line, name) = (file.line_of(&one.name), one.name.get_ref());
    let version = one.version.as_deref().map(|version| file.version(line, name, version)).transpose()?;
    let edges = |all: Vec<Dependency>| -> Result<Vec<Edge>, ProjectError> {
        all.into_iter().map(|dependency| edge(file, line, dependency)).collect()
    };
    let by_name = |all: BTreeMap<String, Vec<Dependency>>| -> Result<_, ProjectError> {
        all.into_iter().map(|(name, all)| Ok((package_name(&name), edges(all)?))).collect()
    };
    Ok(Locked {
        name: package_name(name),
        version,
        line,
        source: one.source.locked(),
        directory: one.source.directory(),
        hashes: one
            .sdist
            .into_iter()
            .chain(one.wheels)
            .filter_map(|file| file.hash)
            .filter(|hash| is_strong(hash))
            .collect(),
        condition: Condition::default(),
        dependencies: edges(one.dependencies)?,
        extras: by_name(one.extras)?,
        groups: by_name(one.groups)?,
    })
}

fn edge(file: &TomlFile<'_>, line: usize, one: Dependency) -> Result<Edge, ProjectError> {
    let exact = one.version.map(|version| file.version(line, &one.name, &version)).transpose()?;
    let source = one.source.map(|source| source.locked());
    Ok(Edge {
        name: package_name(&one.name),
        exact,
        source,
        versions: VersionSpecifiers::empty(),
        extras: one
            .extra
            .map_or_else(Vec::new, OneOrMany::into_vec)
            .iter()
            .map(|one| package_name(one))
            .collect(),
        marker: one.marker,
    })
}
