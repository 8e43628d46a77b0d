//! `[[tool.poetry.source]]`.

use crate::declared::IndexRole;
use crate::error::ProjectError;
use crate::index::{self, Defined};
use crate::project::Project;
use crate::toml_text::{Table, Text};

/// A source, and whether it is PyPI.
struct Source<'t> {
    name: Text<'t>,
    url: Option<Text<'t>>,
    priority: &'t str,
}

impl Source<'_> {
    fn is_pypi(&self) -> bool {
        self.name.value.eq_ignore_ascii_case("pypi")
    }
}

/// Adds the sources as indexes; their names.
pub(super) fn read(project: &mut Project, table: &Table<'_>) -> Result<Vec<String>, ProjectError> {
    let mut sources = Vec::new();
    for node in table.list("source")? {
        let one = node.table()?;
        let Some(name) = one.string("name")? else { return Err(node.is_not("a source with a name")) };
        let priority = match one.string("priority")? {
            Some(text) => text.value,
            // Before Poetry 1.5.
            None if one.is_true("default") => "default",
            None if one.is_true("secondary") => "supplemental",
            None => "primary",
        };
        sources.push(Source { name, url: one.string("url")?, priority });
    }
    let is_primary = |one: &&Source<'_>| one.priority == "primary";
    let only = sources.iter().filter(is_primary).count() == 1;
    let pypi = sources.iter().any(|one| one.is_pypi());
    for one in &sources {
        let Some(url) = &one.url else { continue };
        let role = match one.priority {
            "explicit" => IndexRole::Explicit,
            "supplemental" | "secondary" => IndexRole::Supplemental,
            "default" => IndexRole::Default,
            // Without PyPI among them, packages come from the primary sources alone.
            _ if only && !pypi => IndexRole::Default,
            _ => IndexRole::Extra,
        };
        index::add(project, url, &Defined { role, name: Some(&one.name) });
    }
    Ok(sources.iter().map(|one| one.name.value.to_owned()).collect())
}
