//! A dependency of Poetry as a requirement.

use diagnostic::suggest::nearest;
use diagnostic::visible;
use resolve::parse::package_name;

use super::{constraint, markers};
use crate::declared::{Declared, Notation, PackageSource};
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::Project;
use crate::requirement::{self, Parsed, both};
use crate::toml_text::{Node, Table, Text};

/// Adds dependencies to a project.
#[derive(Debug)]
pub(super) struct Reader<'r> {
    pub(super) project: &'r mut Project,
    /// Names of `[[tool.poetry.source]]`.
    pub(super) sources: &'r [String],
    /// Optional packages that the chosen extras have.
    pub(super) optional: &'r [String],
    /// Whether only the sources of packages count.
    pub(super) enriches: bool,
}

impl Reader<'_> {
    /// `torch = "^2.4"`, `torch = {version = "^2.4"}` or a list of such tables.
    pub(super) fn package(&mut self, node: &Node<'_>) -> Result<(), ProjectError> {
        for one in node.one_or_more() {
            match one.as_table() {
                Some(table) => self.table(one.key, &table)?,
                None => self.requirement(one.key, &one.string()?, "", None)?,
            }
        }
        Ok(())
    }

    fn table(&mut self, name: &str, table: &Table<'_>) -> Result<(), ProjectError> {
        if !self.enriches && table.is_true("optional") && !self.optional.contains(&package_name(name)) {
            return Ok(());
        }
        let Some(marker) = self.marker(table)? else { return Ok(()) };
        self.source(name, table, marker.as_deref())?;
        let elsewhere = [("git", Reason::Vcs), ("path", Reason::Path), ("file", Reason::Path)];
        if let Some((_, reason)) = elsewhere.into_iter().find(|(key, _)| table.get(key).is_some()) {
            self.skip(table, reason);
            return Ok(());
        }
        let extras: Vec<&str> = table.strings("extras")?.iter().map(|text| text.value).collect();
        let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        match (table.string("version")?, table.string("url")?) {
            (_, Some(url)) => self.address(name, &url, marker.as_deref()),
            (Some(version), None) => self.requirement(name, &version, &extras, marker.as_deref()),
            (None, None) => Ok(()),
        }
    }

    /// Where the dependency holds; `None`: what it says cannot be expressed as a marker.
    fn marker(&mut self, table: &Table<'_>) -> Result<Option<Option<String>>, ProjectError> {
        let mut marker = table.string("markers")?.map(|text| text.value.to_owned());
        if let Some(text) = table.string("python")? {
            let Some(python) = markers::of_python(text.value) else {
                self.skip(table, Reason::NoRange { text: text.value.to_owned() });
                return Ok(None);
            };
            marker = both(marker.as_deref(), Some(python.as_str()).filter(|python| !python.is_empty()));
        }
        if let Some(platform) = table.string("platform")?.and_then(|text| markers::of_platform(text.value)) {
            marker = both(marker.as_deref(), Some(&platform));
        }
        Ok(Some(marker))
    }

    fn source(&mut self, name: &str, table: &Table<'_>, marker: Option<&str>) -> Result<(), ProjectError> {
        let Some(source) = table.string("source")? else { return Ok(()) };
        let index = source.value;
        if !index.eq_ignore_ascii_case("pypi") && !self.sources.iter().any(|one| one == index) {
            let near = nearest(index, self.sources.iter().map(String::as_str)).map(str::to_owned);
            let (file, line) = (source.file(), source.line());
            return Err(ProjectError::UnknownIndex { file, line, name: index.to_owned(), near });
        }
        let value = PackageSource {
            package: package_name(name),
            marker: marker.map(str::to_owned),
            index: Some(index.to_owned()),
        };
        let origin = source.origin(Some(0..index.len()), String::new(), Notation::Specifiers);
        self.project.sources.push(Declared { value, origin });
        Ok(())
    }

    fn skip(&mut self, table: &Table<'_>, reason: Reason) {
        let not_read = NotRead { file: table.file().to_owned(), line: Some(table.line()), reason };
        self.project.not_read.push(not_read);
    }

    fn requirement(
        &mut self,
        name: &str,
        version: &Text<'_>,
        extras: &str,
        marker: Option<&str>,
    ) -> Result<(), ProjectError> {
        if self.enriches {
            return Ok(());
        }
        let Some(specifiers) = constraint::specifiers(version.value) else {
            let reason = Reason::NoRange { text: version.value.to_owned() };
            self.project.not_read.push(NotRead { file: version.file(), line: Some(version.line()), reason });
            return Ok(());
        };
        let specifiers: Vec<String> = specifiers.iter().map(ToString::to_string).collect();
        let text = format!("{name}{extras}{}", specifiers.join(","));
        let shown = visible::line(&format!("{name} {}", version.value)).into_owned();
        self.add(version, &with_marker(text, marker), Some(shown))
    }

    fn address(&mut self, name: &str, url: &Text<'_>, marker: Option<&str>) -> Result<(), ProjectError> {
        if self.enriches {
            return Ok(());
        }
        self.add(url, &with_marker(format!("{name} @ {}", url.value), marker), None)
    }

    /// Adds a requirement; `shown`: what is written, where it is a constraint.
    fn add(&mut self, at: &Text<'_>, text: &str, shown: Option<String>) -> Result<(), ProjectError> {
        let parsed = requirement::parse(text).map_err(|why| ProjectError::Requirement {
            file: at.file(),
            line: at.line(),
            text: text.to_owned(),
            why,
        })?;
        match parsed {
            Parsed::Dependency(value) => {
                let span = shown.as_ref().map(|_| 0..at.value.len());
                let shown = shown.unwrap_or_else(|| requirement::shown(text));
                let origin = at.origin(span, shown, Notation::Poetry);
                self.project.dependencies.push(Declared { value, origin });
            }
            Parsed::Elsewhere(reason) => {
                self.project.not_read.push(NotRead { file: at.file(), line: Some(at.line()), reason });
            }
        }
        Ok(())
    }
}

fn with_marker(text: String, marker: Option<&str>) -> String {
    marker.map_or(text.clone(), |marker| format!("{text} ; {marker}"))
}
