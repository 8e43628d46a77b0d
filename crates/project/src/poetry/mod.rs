//! `[tool.poetry]`: dependencies with constraints of Poetry, groups, extras and sources.

mod dependency;
mod groups;
mod markers;
mod sources;
#[cfg(test)]
mod tests;

use resolve::parse::package_name;

use crate::choice::{Choice, skip_extras};
use crate::declared::Notation;
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::poetry_constraint as constraint;
use crate::project::Project;
use crate::requires_python::python;
use crate::toml_text::{Node, Table, Text};
use dependency::Reader;

/// Adds what the table declares; `enriches`: `[project]` has the dependencies, and the table only says where
/// they come from. Returns the groups that count.
pub(crate) fn read(
    project: &mut Project,
    choice: &mut Choice,
    file: &str,
    table: &Table<'_>,
    enriches: bool,
) -> Result<Vec<String>, ProjectError> {
    let names = sources::read(project, table)?;
    let optional = extras(project, choice, file, table)?;
    let mut reader = Reader { project, sources: &names, optional: &optional, enriches };
    if let Some(dependencies) = table.table("dependencies")? {
        for node in dependencies.entries() {
            match node.key {
                "python" => of_python(reader.project, &node)?,
                _ => reader.package(&node)?,
            }
        }
    }
    reader.enriches = false;
    groups::read(&mut reader, choice, file, table)
}

/// The packages of the chosen extras.
fn extras(
    project: &mut Project,
    choice: &mut Choice,
    file: &str,
    table: &Table<'_>,
) -> Result<Vec<String>, ProjectError> {
    let (mut packages, mut left) = (Vec::new(), Vec::new());
    let Some(extras) = table.table("extras")? else { return Ok(packages) };
    for node in extras.entries() {
        let name = package_name(node.key);
        choice.extras.offer(&name);
        if !choice.extras.is_asked(&name) {
            left.push(name);
            continue;
        }
        let texts: Result<Vec<Text<'_>>, _> = node.list()?.iter().map(Node::string).collect();
        packages.extend(texts?.iter().map(|text| package_name(text.value)));
        project.extras.push(name);
    }
    skip_extras(project, file, &left);
    Ok(packages)
}

/// `python = "^3.10"`, `python = {version = "^3.10"}`.
fn of_python(project: &mut Project, node: &Node<'_>) -> Result<(), ProjectError> {
    let version = match node.as_table() {
        Some(table) => table.string("version")?,
        None => Some(node.string()?),
    };
    let Some(text) = version else { return Ok(()) };
    match constraint::specifiers(text.value) {
        // Any.
        Some(range) if range.is_empty() => Ok(()),
        Some(range) => python(project, &text, "python", Some(range), Notation::Poetry),
        None => {
            let reason = Reason::NoRange { text: text.value.to_owned() };
            project.not_read.push(NotRead { file: text.file(), line: Some(text.line()), reason });
            Ok(())
        }
    }
}
