//! `[project.optional-dependencies]`.

use std::collections::VecDeque;

use resolve::parse::package_name;

use super::{INCLUDES_LIMIT, dependency, parsed};
use crate::choice::{Choice, skip_extras};
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::project::Project;
use crate::requirement::{Parsed, both};
use crate::toml_text::{Node, Table, Text};

/// Adds the requirements of the chosen extras. `own`: the name of the project, by which an extra includes
/// others.
pub(super) fn read(
    project: &mut Project,
    choice: &mut Choice,
    file: &str,
    own: Option<&str>,
    table: &Table<'_>,
) -> Result<(), ProjectError> {
    let extras: Vec<(String, Node<'_>)> =
        table.entries().into_iter().map(|node| (package_name(node.key), node)).collect();
    let mut queue: VecDeque<Included> = VecDeque::new();
    for (name, _) in &extras {
        choice.extras.offer(name);
        if choice.extras.is_asked(name) {
            queue.push_back(Included { path: vec![name.clone()], marker: None });
        }
    }
    let mut done: Vec<(String, Option<String>)> = Vec::new();
    while let Some(Included { path, marker }) = queue.pop_front() {
        let key = (path.last().cloned().unwrap_or_default(), marker);
        if done.contains(&key) {
            continue;
        }
        if done.len() >= INCLUDES_LIMIT {
            let (file, line) = (file.to_owned(), table.line());
            return Err(ProjectError::TooManyIncludes { file, line, limit: INCLUDES_LIMIT });
        }
        for (_, node) in extras.iter().filter(|(name, _)| *name == key.0) {
            for text in texts(node)? {
                match included(&text, own)? {
                    Some(found) => {
                        queue.extend(found.into_iter().filter_map(|one| one.behind(&path, &key.1)))
                    }
                    None => dependency(project, &text, key.1.as_deref(), DeclaredBy::Main)?,
                }
            }
        }
        done.push(key);
    }
    project.extras.extend(done.iter().map(|(name, _)| name.clone()));
    let left = extras.iter().map(|(name, _)| name.clone());
    let left: Vec<String> = left.filter(|name| !done.iter().any(|(one, _)| one == name)).collect();
    skip_extras(project, file, &left);
    Ok(())
}

/// An extra, behind those that include it.
struct Included {
    path: Vec<String>,
    marker: Option<String>,
}

impl Included {
    /// Included by another one; `None`: it includes itself, which adds nothing.
    fn behind(self, path: &[String], marker: &Option<String>) -> Option<Included> {
        let again = self.path.iter().any(|name| path.contains(name));
        let marker = both(marker.as_deref(), self.marker.as_deref());
        (!again).then(|| Included { path: path.iter().cloned().chain(self.path).collect(), marker })
    }
}

fn texts<'t>(node: &Node<'t>) -> Result<Vec<Text<'t>>, ProjectError> {
    node.list()?.iter().map(Node::string).collect()
}

/// Other extras of the project: `gpu`, `serve` of `tokenmill[gpu,serve]`.
fn included(text: &Text<'_>, own: Option<&str>) -> Result<Option<Vec<Included>>, ProjectError> {
    if own.is_none_or(|own| package_name(text.value) != own) {
        return Ok(None);
    }
    Ok(match parsed(text)? {
        Parsed::Dependency(one) if Some(one.name.as_str()) == own && !one.extras.is_empty() => {
            let marker = one.marker;
            let included =
                |name: &String| Included { path: vec![package_name(name)], marker: marker.clone() };
            Some(one.extras.iter().map(included).collect())
        }
        _ => None,
    })
}
