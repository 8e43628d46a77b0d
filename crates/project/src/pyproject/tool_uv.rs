//! `[tool.uv]`: indexes, sources of packages, constraints and overrides.

use diagnostic::suggest::nearest;
use diagnostic::words::{and, or};
use resolve::parse::package_name;

use super::{dependency, parsed};
use crate::declared::{Declared, DeclaredBy, Dependency, IndexRole, Notation, PackageSource};
use crate::error::ProjectError;
use crate::index::{self, Defined, may_hold};
use crate::not_read::{NotRead, Reason};
use crate::project::Project;
use crate::requirement::Parsed;
use crate::toml_text::{Node, Table, Text};

/// Adds what the table says; `first`: the first dependency of the file, `groups`: those that count.
pub(super) fn read(
    project: &mut Project,
    uv: &Table<'_>,
    first: usize,
    groups: &[String],
) -> Result<(), ProjectError> {
    exclusive(project, uv, groups)?;
    indexes(project, uv)?;
    if let Some(sources) = uv.table("sources")? {
        Sources { project, uv, groups, open: Vec::new() }.read(&sources)?;
    }
    overrides(project, uv, first)?;
    for text in uv.strings("constraint-dependencies")? {
        dependency(project, &text, None, DeclaredBy::Constraint)?;
    }
    environments(project, uv)
}

/// `conflicts = [[{extra = "cpu"}, {extra = "cu124"}]]`: two of a set cannot be installed together.
fn exclusive(project: &Project, uv: &Table<'_>, groups: &[String]) -> Result<(), ProjectError> {
    for set in uv.list("conflicts")? {
        let mut names = Vec::new();
        for item in set.list()?.iter().filter_map(Node::as_table) {
            let chosen = [("extra", &project.extras[..]), ("group", groups)];
            for (what, chosen) in chosen {
                let Some(name) = item.string(what)?.map(|text| package_name(text.value)) else { continue };
                if chosen.contains(&name) {
                    names.push(format!("{what} {name}"));
                }
            }
        }
        if names.len() > 1 {
            return Err(ProjectError::Exclusive { file: uv.file().to_owned(), line: set.line(), names });
        }
    }
    Ok(())
}

fn indexes(project: &mut Project, uv: &Table<'_>) -> Result<(), ProjectError> {
    for node in uv.list("index")? {
        let table = node.table()?;
        let Some(url) = table.string("url")? else { return Err(node.is_not("an index with a url")) };
        let role = match () {
            () if table.string("format")?.is_some_and(|text| text.value == "flat") => IndexRole::FindLinks,
            () if table.is_true("explicit") => IndexRole::Explicit,
            () if table.is_true("default") => IndexRole::Default,
            () => IndexRole::First,
        };
        let name = table.string("name")?;
        index::add(project, &url, &Defined { role, name: name.as_ref() });
    }
    let unnamed = |role| Defined { role, name: None };
    if let Some(url) = uv.string("index-url")? {
        index::add(project, &url, &unnamed(IndexRole::Default));
    }
    for (key, role) in [("extra-index-url", IndexRole::First), ("find-links", IndexRole::FindLinks)] {
        for url in uv.strings(key)? {
            index::add(project, &url, &unnamed(role));
        }
    }
    Ok(())
}

/// Reads `[tool.uv.sources]`.
struct Sources<'p, 't> {
    project: &'p mut Project,
    uv: &'p Table<'t>,
    groups: &'p [String],
    /// Packages whose source depends on an extra or group that is not chosen.
    open: Vec<Open>,
}

struct Open {
    line: usize,
    package: String,
    what: &'static str,
    names: Vec<String>,
}

impl Sources<'_, '_> {
    fn read(&mut self, table: &Table<'_>) -> Result<(), ProjectError> {
        for node in table.entries() {
            let package = package_name(node.key);
            for one in node.one_or_more() {
                self.source(&package, &one)?;
            }
        }
        self.note_open();
        Ok(())
    }

    fn source(&mut self, package: &str, node: &Node<'_>) -> Result<(), ProjectError> {
        let table = node.table()?;
        if let Some(index) = table.string("index")? {
            self.defined(&index)?;
        }
        for what in ["extra", "group"] {
            let Some(name) = table.string(what)?.map(|text| package_name(text.value)) else { continue };
            let chosen = if what == "extra" { &self.project.extras[..] } else { self.groups };
            if !chosen.contains(&name) {
                self.leave_open(Open {
                    line: table.line(),
                    package: package.into(),
                    what,
                    names: vec![name],
                });
                return Ok(());
            }
        }
        let marker = table.string("marker")?.map(|text| text.value.to_owned());
        let index = table.string("index")?;
        if index.is_none() && marker.as_deref().is_none_or(|marker| may_hold(marker, &[])) {
            let not_read = NotRead {
                file: table.file().to_owned(),
                line: Some(table.line()),
                reason: elsewhere(&table),
            };
            self.project.not_read.push(not_read);
        }
        let name = index.as_ref().map(|text| text.value.to_owned());
        let value = PackageSource { package: package.to_owned(), marker, index: name };
        let origin = match &index {
            Some(text) => text.origin(Some(0..text.value.len()), String::new(), Notation::Specifiers),
            None => node.origin(String::new()),
        };
        self.project.sources.push(Declared { value, origin });
        Ok(())
    }

    /// Refuses an index that no table defines.
    fn defined(&self, index: &Text<'_>) -> Result<(), ProjectError> {
        let tables = self.uv.list("index")?;
        let names: Result<Vec<Option<Text<'_>>>, _> =
            tables.iter().filter_map(Node::as_table).map(|table| table.string("name")).collect();
        let names: Vec<&str> = names?.iter().flatten().map(|text| text.value).collect();
        if names.contains(&index.value) {
            return Ok(());
        }
        let near = nearest(index.value, names.iter().copied()).map(str::to_owned);
        let (file, line) = (index.file(), index.line());
        Err(ProjectError::UnknownIndex { file, line, name: index.value.to_owned(), near })
    }

    fn leave_open(&mut self, mut new: Open) {
        match self.open.iter_mut().find(|one| one.package == new.package && one.what == new.what) {
            Some(one) => one.names.append(&mut new.names),
            None => self.open.push(new),
        }
    }

    /// Says which extras would give packages a source, once for all packages with the same ones.
    fn note_open(&mut self) {
        let has_source =
            |open: &Open| self.project.sources.iter().any(|one| one.value.package == open.package);
        let mut open: Vec<Open> = std::mem::take(&mut self.open);
        open.retain(|one| !has_source(one));
        while let Some(first) = open.first() {
            let (names, what, line) = (first.names.clone(), first.what, first.line);
            let (same, rest): (Vec<Open>, Vec<Open>) =
                open.into_iter().partition(|one| one.names == names && one.what == what);
            open = rest;
            let packages: Vec<&str> = same.iter().map(|one| one.package.as_str()).collect();
            let options: Vec<String> = names.iter().map(|name| format!("--{what} {name}")).collect();
            let reason = Reason::ChooseSource { packages: and(&packages), what, options: or(&options) };
            let file = self.uv.file().to_owned();
            self.project.not_read.push(NotRead { file, line: Some(line), reason });
        }
    }
}

/// Why the version of a package that no index has is not known.
fn elsewhere(table: &Table<'_>) -> Reason {
    let has = |key: &str| table.get(key).is_some();
    match () {
        () if has("git") => Reason::Vcs,
        () if has("workspace") || has("path") => Reason::Path,
        () => Reason::Address,
    }
}

/// Replaces the requirements of the file on packages that `override-dependencies` names.
fn overrides(project: &mut Project, uv: &Table<'_>, first: usize) -> Result<(), ProjectError> {
    for text in uv.strings("override-dependencies")? {
        let Parsed::Dependency(new) = parsed(&text)? else { continue };
        let is_replaced =
            |one: &Declared<Dependency>| one.value.name == new.name && one.value.kind != DeclaredBy::Override;
        let old = project.dependencies.split_off(first);
        let (replaced, kept): (Vec<_>, Vec<_>) = old.into_iter().partition(is_replaced);
        project.dependencies.extend(kept);
        for one in &replaced {
            let (file, line) = (one.origin.file.clone(), Some(one.origin.line));
            project.not_read.push(NotRead { file, line, reason: Reason::Overridden });
        }
        let known = project.dependencies[first..].iter().any(|one| one.value.name == new.name);
        let kind = if replaced.is_empty() && !known { DeclaredBy::Constraint } else { DeclaredBy::Override };
        dependency(project, &text, None, kind)?;
    }
    Ok(())
}

/// `environments = ["sys_platform == 'darwin'"]`: what is not among them is not resolved.
fn environments(project: &mut Project, uv: &Table<'_>) -> Result<(), ProjectError> {
    let Some(node) = uv.get("environments") else { return Ok(()) };
    let markers: Result<Vec<Text<'_>>, _> = node.one_or_more().iter().map(Node::string).collect();
    let markers = markers?;
    if !markers.is_empty() && !markers.iter().any(|text| may_hold(text.value, &[])) {
        let (file, line) = (uv.file().to_owned(), Some(node.line()));
        project.not_read.push(NotRead { file, line, reason: Reason::OtherSystems });
    }
    Ok(())
}
