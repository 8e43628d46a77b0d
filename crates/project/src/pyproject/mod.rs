//! `pyproject.toml`: the dependencies and the Python of `[project]` (PEP 621), its extras and groups, and the
//! tables of Poetry and uv.

mod extras;
mod groups;
mod tool_uv;

use std::str::FromStr;

use pep440_rs::VersionSpecifiers;
use resolve::parse::package_name;

use crate::choice::Choice;
use crate::declared::{Declared, DeclaredBy, Notation};
use crate::error::ProjectError;
use crate::index;
use crate::not_read::{NotRead, Reason};
use crate::poetry;
use crate::project::{Project, ReadFile};
use crate::requirement::{self, Parsed, both};
use crate::requires_python;
use crate::toml_text::{Node, Table, Text, TomlText};

/// Extras and groups that include each other.
const INCLUDES_LIMIT: usize = 100;

/// A requirements file that `[tool.setuptools.dynamic]` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Included {
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// What else is to be read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Whether the file declares the project.
    pub(crate) own: bool,
    /// Whether the dependencies of the project are in it, or in what it names.
    pub(crate) dependencies: bool,
    pub(crate) files: Vec<Included>,
}

/// Adds what the file declares.
pub(crate) fn read(
    project: &mut Project,
    choice: &mut Choice,
    name: &str,
    text: &str,
) -> Result<Read, ProjectError> {
    let file = TomlText::new(name, text);
    let tree = file.parse()?;
    let root = file.root(&tree);
    let tool = |keys: &[&str]| Ok(root.table("tool")?.map(|tool| tool.below(keys)).transpose()?.flatten());
    let (metadata, uv) = (root.table("project")?, tool(&["uv"])?);
    let at = project.read.len();
    project.read.push(ReadFile::new(name));
    let (first, lines) = (project.dependencies.len(), project.not_read.len());
    let mut chosen = Vec::new();
    let mut dynamic = Dynamic::default();
    if let Some(metadata) = &metadata {
        dynamic = Dynamic::of(metadata)?;
        own(project, choice, metadata)?;
    }
    if let Some(poetry) = tool(&["poetry"])? {
        chosen.extend(poetry::read(
            project,
            choice,
            name,
            &poetry,
            metadata.is_some() && !dynamic.dependencies,
        )?);
    }
    let groups = root.table("dependency-groups")?;
    let groups = groups::read(project, choice, name, groups, uv)?;
    chosen.extend(groups.iter().cloned());
    let extras = project.extras.iter().filter(|extra| choice.extras.is_asked(extra));
    let mut parts: Vec<String> = extras.map(|extra| format!("extra {extra}")).collect();
    parts.extend(chosen.iter().map(|group| format!("group {group}")));
    project.groups.extend(chosen);
    let count = project.dependencies.len() - first
        + project.not_read[lines..].iter().filter(|one| one.line.is_some()).count();
    project.read[at].requirements = (count > 0).then_some(count);
    project.read[at].parts = parts;
    if let Some(uv) = &uv {
        tool_uv::read(project, uv, first, &groups)?;
    }
    index::finish(project, name);
    let own = metadata.is_some() || tool(&["poetry"])?.is_some();
    let elsewhere = dynamic.dependencies && !declared_elsewhere(project, name);
    let dependencies = own && !(elsewhere && tool(&["setuptools", "dynamic", "dependencies"])?.is_none());
    let files = dynamic.files(project, choice, name, tool(&["setuptools", "dynamic"])?)?;
    skip_tables(project, name, root.table("tool")?);
    Ok(Read { own, dependencies, files })
}

/// What `[project]` declares.
fn own(project: &mut Project, choice: &mut Choice, metadata: &Table<'_>) -> Result<(), ProjectError> {
    if let Some(text) = metadata.string("requires-python")? {
        let range = VersionSpecifiers::from_str(text.value).ok();
        requires_python::python(project, &text, "requires-python", range, Notation::Specifiers)?;
    }
    for text in metadata.strings("dependencies")? {
        dependency(project, &text, None, DeclaredBy::Main)?;
    }
    if let Some(extras) = metadata.table("optional-dependencies")? {
        let name = metadata.string("name")?.map(|name| package_name(name.value));
        extras::read(project, choice, metadata.file(), name.as_deref(), &extras)?;
    }
    Ok(())
}

fn parsed(text: &Text<'_>) -> Result<Parsed, ProjectError> {
    let requirement = text.value.trim();
    requirement::parse(requirement).map_err(|why| ProjectError::Requirement {
        file: text.file(),
        line: text.line(),
        text: requirement.to_owned(),
        why,
    })
}

/// Adds a requirement. `marker`: where it holds, besides its own.
fn dependency(
    project: &mut Project,
    text: &Text<'_>,
    marker: Option<&str>,
    kind: DeclaredBy,
) -> Result<(), ProjectError> {
    match parsed(text)? {
        Parsed::Dependency(mut value) => {
            value.kind = kind;
            value.marker = both(marker, value.marker.as_deref());
            let range = requirement::specifier(text.value);
            let origin = text.origin(range, requirement::shown(text.value.trim()), Notation::Specifiers);
            project.dependencies.push(Declared { value, origin });
        }
        Parsed::Elsewhere(reason) => {
            project.not_read.push(NotRead { file: text.file(), line: Some(text.line()), reason });
        }
    }
    Ok(())
}

/// Keys of `[project]` that a build backend computes.
#[derive(Debug, Default)]
struct Dynamic {
    dependencies: bool,
    python: bool,
    extras: bool,
}

impl Dynamic {
    fn of(metadata: &Table<'_>) -> Result<Dynamic, ProjectError> {
        let keys = metadata.strings("dynamic")?;
        let has = |key: &str| keys.iter().any(|one| one.value == key);
        Ok(Dynamic {
            dependencies: has("dependencies"),
            python: has("requires-python"),
            extras: has("optional-dependencies"),
        })
    }

    /// `[tool.setuptools.dynamic] dependencies = {file = ["requirements.txt"]}`; adds what it does not say.
    fn files(
        &self,
        project: &mut Project,
        choice: &mut Choice,
        file: &str,
        table: Option<Table<'_>>,
    ) -> Result<Vec<Included>, ProjectError> {
        let mut found = Vec::new();
        if self.dependencies {
            let named = table.map(|table| table.table("dependencies")).transpose()?.flatten();
            match named {
                Some(named) => found.extend(included(&named)?),
                None if declared_elsewhere(project, file) => {}
                None => computed(project, file, "dependencies"),
            }
        }
        if self.python && !project.python.iter().any(|one| one.origin.file == file) {
            computed(project, file, "requires-python");
        }
        let extras = table.map(|table| table.table("optional-dependencies")).transpose()?.flatten();
        let mut left = Vec::new();
        for node in extras.filter(|_| self.extras).map(|table| table.entries()).unwrap_or_default() {
            let name = package_name(node.key);
            choice.extras.offer(&name);
            match choice.extras.is_asked(&name) {
                true => found.extend(included(&node.table()?)?),
                false => left.push(name),
            }
        }
        crate::choice::skip_extras(project, file, &left);
        Ok(found)
    }
}

fn computed(project: &mut Project, file: &str, key: &'static str) {
    let reason = Reason::DynamicMetadata { key };
    project.not_read.push(NotRead { file: file.to_owned(), line: None, reason });
}

/// Whether tables of Poetry give what `[project]` calls dynamic.
fn declared_elsewhere(project: &Project, file: &str) -> bool {
    project.dependencies.iter().any(|one| one.origin.file == file && one.origin.notation == Notation::Poetry)
}

fn included(table: &Table<'_>) -> Result<Vec<Included>, ProjectError> {
    let Some(node) = table.get("file") else { return Ok(Vec::new()) };
    let texts: Result<Vec<Text<'_>>, _> = node.one_or_more().iter().map(Node::string).collect();
    Ok(texts?.iter().map(|text| Included { name: text.value.to_owned(), line: text.line() }).collect())
}

/// Tables of tools that declare dependencies, or where they come from, and are not read.
const OF_TOOLS: &[(&str, &[&str])] = &[
    ("pdm", &["source", "dev-dependencies"]),
    ("pixi", &["dependencies", "pypi-dependencies", "feature"]),
    ("flit", &["metadata"]),
];

fn skip_tables(project: &mut Project, file: &str, tool: Option<Table<'_>>) {
    let Some(tool) = tool else { return };
    for (name, keys) in OF_TOOLS {
        let Some(table) = tool.get(name).and_then(|node| node.as_table()) else { continue };
        for key in keys.iter().filter(|key| table.get(key).is_some()) {
            let reason = Reason::Table { name: format!("[tool.{name}.{key}]") };
            project.not_read.push(NotRead { file: file.to_owned(), line: None, reason });
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod uv_tests;
