//! A TOML file whose values have lines.

use diagnostic::visible;
use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::LockedSource;
use crate::declared::{Declared, Origin, PythonRange};
use crate::error::ProjectError;
use crate::not_read::Reason;
use crate::url::without_login;

/// The text of a file, and the starts of its lines.
pub(super) struct TomlFile<'t> {
    name: &'t str,
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> TomlFile<'t> {
    pub(super) fn new(name: &'t str, text: &'t str) -> TomlFile<'t> {
        let text = text.trim_start_matches('\u{feff}');
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        TomlFile { name, text, starts: std::iter::once(0).chain(ends).collect() }
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, ProjectError> {
        toml::from_str(self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            ProjectError::toml(self.name, line, &error)
        })
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    pub(super) fn line_of<T>(&self, value: &Spanned<T>) -> usize {
        self.line(value.span().start)
    }

    /// An error where the number of the format is not one of those in `known`.
    pub(super) fn known(
        &self,
        version: Option<&str>,
        known: &'static [&'static str],
    ) -> Result<(), ProjectError> {
        let file = self.name.to_owned();
        match version {
            Some(version) if known.contains(&version) => Ok(()),
            Some(version) => Err(ProjectError::LockFormat { file, version: version.to_owned(), known }),
            None => Err(ProjectError::NoLock { file }),
        }
    }

    /// The Python that a key names.
    pub(super) fn python(
        &self,
        key: &str,
        text: &Spanned<String>,
        specifiers: VersionSpecifiers,
    ) -> Declared<PythonRange> {
        let shown = visible::line(&format!("{key} {}", text.get_ref())).into_owned();
        let (file, line) = (self.name.to_owned(), self.line_of(text));
        let origin = Origin { file, line, text: shown, ..Origin::default() };
        Declared { value: PythonRange { specifiers }, origin }
    }

    /// A version that the package `name` has, or requires.
    pub(super) fn version(&self, line: usize, name: &str, text: &str) -> Result<Version, ProjectError> {
        text.parse().map_err(|_| ProjectError::LockVersion {
            file: self.name.to_owned(),
            line,
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }
}

/// Kinds of hashes that pip accepts.
const STRONG: &[&str] = &["sha256", "sha384", "sha512"];

/// Whether pip accepts a hash: `sha256:…`.
pub(super) fn is_strong(hash: &str) -> bool {
    hash.split_once(':').is_some_and(|(kind, _)| STRONG.contains(&kind))
}

/// One value, or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// An index by its address, or a directory of files.
pub(super) fn of_index(url: Option<&str>) -> LockedSource {
    match url {
        None => LockedSource::Index(None),
        Some(url) if url.chars().any(|letter| letter.is_control() || letter == ' ') => {
            LockedSource::Elsewhere(Reason::ControlCharacters)
        }
        Some(url) if url.contains("://") => LockedSource::Index(Some(without_login(url).0)),
        Some(_) => LockedSource::Elsewhere(Reason::Path),
    }
}

/// `requires-python` of a lock.
pub(super) fn requires_python(
    file: &TomlFile<'_>,
    python: &Spanned<String>,
) -> Result<Declared<PythonRange>, ProjectError> {
    const KEY: &str = "requires-python";
    let specifiers = python.get_ref().parse().map_err(|_| ProjectError::Range {
        file: file.name.to_owned(),
        line: file.line_of(python),
        key: KEY,
        text: python.get_ref().clone(),
        example: ">=3.10",
    })?;
    Ok(file.python(KEY, python, specifiers))
}
