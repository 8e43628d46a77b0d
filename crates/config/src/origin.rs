//! Where a value of the settings is written.

use std::path::PathBuf;

/// Where a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, absolute, links followed.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// A value and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    /// The place.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// The same place with the value in words.
    pub fn as_text(&self, text: impl FnOnce(&T) -> String) -> Sourced<String> {
        Sourced { value: text(&self.value), origin: self.origin.clone() }
    }
}
