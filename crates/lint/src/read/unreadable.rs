//! What could not be read.

/// A file or directory that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name, as the report shows it.
    pub name: String,
    /// Why, in the words of the system.
    pub why: String,
    /// Whether it is a directory.
    pub directory: bool,
}
