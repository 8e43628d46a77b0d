//! The text of a settings file and the places in it.

use std::path::Path;

use diagnostic::Position;
use diagnostic::suggest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{ConfigError, ConfigErrorKind as Kind};
use crate::origin::{Origin, Sourced};
use crate::trust::Untrusted;

pub(crate) type Table<'t> = DeTable<'t>;
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// The text that is read, for places, and whether it is trusted.
pub(crate) struct Source<'s> {
    pub(crate) path: &'s Path,
    pub(crate) text: &'s str,
    pub(crate) untrusted: Option<Untrusted>,
}

impl Source<'_> {
    pub(crate) fn error<T>(&self, at: usize, kind: Kind) -> Result<T, ConfigError> {
        Err(ConfigError::at(self.path, self.line(at), kind))
    }

    pub(crate) fn wrong_type<T>(&self, at: usize, key: &str, wanted: &'static str) -> Result<T, ConfigError> {
        self.error(at, Kind::Type { key: key.to_owned(), wanted })
    }

    pub(crate) fn sourced<T>(&self, at: usize, value: T) -> Sourced<T> {
        Sourced { value, origin: self.origin(at) }
    }

    pub(crate) fn origin(&self, at: usize) -> Origin {
        Origin { file: self.path.to_owned(), line: self.line(at) }
    }

    fn line(&self, byte: usize) -> usize {
        Position::of(self.text, byte).line
    }

    /// # Errors
    /// A key of the table that is not among those.
    pub(crate) fn only_known(
        &self,
        table: &Table,
        parents: &str,
        known: &[&'static str],
    ) -> Result<(), ConfigError> {
        let unknown = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown else { return Ok(()) };
        let near = nearest(key.get_ref(), known.iter().copied());
        self.error(
            key.span().start,
            Kind::UnknownKey { key: format!("{parents}{}", key.get_ref()), near, known: known.to_vec() },
        )
    }

    pub(crate) fn text(&self, key: &str, value: &Value) -> Result<Sourced<String>, ConfigError> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(self.sourced(at, text.to_string())),
            _ => self.wrong_type(at, key, "a string that is not empty"),
        }
    }
}

pub(crate) fn as_table<'v, 't>(value: &'v DeValue<'t>) -> Option<&'v Table<'t>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}
