//! What of a project is read.

use std::path::PathBuf;

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub directory: PathBuf,
    /// Requirements files, instead of those that are chosen by their names. Relative to the working
    /// directory.
    pub requirements: Vec<PathBuf>,
    pub lock: LockUse,
    pub extras: Vec<String>,
    /// Groups of `[dependency-groups]` and of Poetry.
    pub groups: Vec<String>,
}

/// How a lock of the directory is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LockUse {
    /// It decides the versions.
    #[default]
    Used,
    /// It will be regenerated: the files that it is made from count alone.
    Regenerated,
    /// Not at all.
    Ignored,
}
