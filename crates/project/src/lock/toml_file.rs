//! A TOML file whose values have lines.

use diagnostic::visible;
use pep440_rs::Version;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::LockedSource;
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
        toml::from_str(self.text).map_err(|error| ProjectError::Toml {
            file: self.name.to_owned(),
            line: self.line(error.span().map_or(0, |span| span.start)),
            why: error.message().lines().next().unwrap_or_default().to_owned(),
        })
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    pub(super) fn line_of<T>(&self, value: &Spanned<T>) -> usize {
        self.line(value.span().start)
    }

    pub(super) fn malformed(&self, line: usize, what: String) -> ProjectError {
        ProjectError::Malformed { file: self.name.to_owned(), line, what }
    }

    /// An error where the number of the format is not one that is known.
    pub(super) fn known(&self, version: Option<&str>, known: &[&str]) -> Result<(), ProjectError> {
        match version {
            Some(version) if known.contains(&version) => Ok(()),
            Some(version) => {
                let version = visible::line(version);
                let known = known.join(", ");
                let what = format!("format {version} is not supported; envdoc reads {known}");
                Err(self.malformed(1, what))
            }
            None => Err(self.malformed(1, "not a lock file: it names no version of its format".to_owned())),
        }
    }

    pub(super) fn version(&self, name: &Spanned<String>, version: &str) -> Result<Version, ProjectError> {
        version.parse().map_err(|_| {
            let (name, line) = (visible::line(name.get_ref()), self.line_of(name));
            self.malformed(line, format!("{name} has the version {version:?}, which is not one"))
        })
    }
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
        Some(url) if url.contains("://") => LockedSource::Index(Some(without_login(url).0)),
        Some(_) => LockedSource::Elsewhere(Reason::Path),
    }
}

/// A name as indexes compare it.
pub(super) fn normalised(name: &str) -> String {
    resolve::parse::package_name(name)
}
