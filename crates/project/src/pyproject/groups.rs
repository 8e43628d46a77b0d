//! `[dependency-groups]` (PEP 735), and `dev-dependencies` of uv.

use diagnostic::suggest::nearest;
use resolve::parse::package_name;

use super::{INCLUDES_LIMIT, dependency};
use crate::choice::{Choice, skip_groups};
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::project::Project;
use crate::purpose::purpose;
use crate::toml_text::{Node, Table};

/// The groups of a file.
struct Groups<'t> {
    file: String,
    all: Vec<(String, Node<'t>)>,
    done: Vec<String>,
}

/// Adds the requirements of the chosen groups, and of those that uv installs unless told otherwise.
pub(super) fn read(
    project: &mut Project,
    choice: &mut Choice,
    file: &str,
    table: Option<Table<'_>>,
    uv: Option<Table<'_>>,
) -> Result<Vec<String>, ProjectError> {
    let own = table.map(|table| table.entries()).unwrap_or_default();
    let mut all: Vec<(String, Node<'_>)> =
        own.into_iter().map(|node| (package_name(node.key), node)).collect();
    let dev = uv.and_then(|uv| uv.get("dev-dependencies"));
    all.extend(dev.map(|node| ("dev".to_owned(), node)));
    let defaults = uv.and_then(|uv| uv.get("default-groups"));
    let is_default = |name: &str| {
        let Some(defaults) = defaults else { return false };
        let named = defaults.one_or_more();
        let mut names = named.iter().filter_map(Node::as_string).map(|one| one.value);
        // `default-groups = "all"`
        names.any(|one| package_name(one) == name || defaults.as_string().is_some() && one == "all")
    };
    let mut chosen = Vec::new();
    for (name, _) in &all {
        choice.groups.offer(name);
        let by_default = is_default(name) && purpose(name).is_none();
        if (choice.groups.is_asked(name) || by_default) && !chosen.contains(name) {
            chosen.push(name.clone());
        }
    }
    let mut groups = Groups { file: file.to_owned(), all, done: Vec::new() };
    for name in &chosen {
        groups.add(project, name, &mut Vec::new())?;
    }
    let mut left: Vec<String> = groups.all.iter().map(|(name, _)| name.clone()).collect();
    left.retain(|name| !groups.done.contains(name));
    left.dedup();
    skip_groups(project, file, &left);
    Ok(chosen)
}

impl Groups<'_> {
    fn add(
        &mut self,
        project: &mut Project,
        name: &str,
        chain: &mut Vec<String>,
    ) -> Result<(), ProjectError> {
        if self.done.iter().any(|one| one == name) {
            return Ok(());
        }
        chain.push(name.to_owned());
        let lists: Vec<Node<'_>> =
            self.all.iter().filter(|(one, _)| one == name).map(|(_, node)| *node).collect();
        for list in lists {
            for item in list.list()? {
                match (item.as_string(), item.as_table().and_then(|table| table.get("include-group"))) {
                    (Some(text), _) => dependency(project, &text, None, DeclaredBy::Main)?,
                    (None, Some(included)) => {
                        let included = included.string()?;
                        self.include(project, &package_name(included.value), included.line(), chain)?;
                    }
                    (None, None) => return Err(item.is_not("a requirement or {include-group = \"NAME\"}")),
                }
            }
        }
        chain.pop();
        self.done.push(name.to_owned());
        Ok(())
    }

    fn include(
        &mut self,
        project: &mut Project,
        name: &str,
        line: usize,
        chain: &mut Vec<String>,
    ) -> Result<(), ProjectError> {
        let file = self.file.clone();
        if let Some(at) = chain.iter().position(|one| one == name) {
            let chain = chain[at..].iter().cloned().chain([name.to_owned()]).collect();
            return Err(ProjectError::CircularGroup { file, line, again: name.to_owned(), chain });
        }
        if !self.all.iter().any(|(one, _)| one == name) {
            let near = nearest(name, self.all.iter().map(|(one, _)| one.as_str())).map(str::to_owned);
            return Err(ProjectError::UnknownGroup { file, line, name: name.to_owned(), near });
        }
        if chain.len() >= INCLUDES_LIMIT {
            return Err(ProjectError::TooManyIncludes { file, line, limit: INCLUDES_LIMIT });
        }
        self.add(project, name, chain)
    }
}
