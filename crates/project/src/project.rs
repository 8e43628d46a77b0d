//! What all files of a project declare together.

use std::path::PathBuf;

use crate::declared::{Declared, Dependency, Index, PackageSource, PythonRange};
use crate::lock::Lock;

/// What the files of a directory declare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    pub directory: PathBuf,
    /// In the order in which they were read.
    pub read: Vec<ReadFile>,
    pub not_read: Vec<crate::NotRead>,
    /// All must hold.
    pub python: Vec<Declared<PythonRange>>,
    pub dependencies: Vec<Declared<Dependency>>,
    pub indexes: Vec<Declared<Index>>,
    pub sources: Vec<Declared<PackageSource>>,
    /// The extras whose requirements count.
    pub extras: Vec<String>,
    /// The dependency groups whose requirements count.
    pub groups: Vec<String>,
    /// It decides the versions.
    pub lock: Option<Lock>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// Relative to the working directory.
    pub name: String,
    /// Requirements in it; `None`: it is of a kind that has none.
    pub requirements: Option<usize>,
    /// Packages of a lock.
    pub packages: Option<usize>,
    /// Extras and groups whose requirements are among them: `extra gpu`.
    pub parts: Vec<String>,
}

impl ReadFile {
    pub(crate) fn new(name: &str) -> ReadFile {
        ReadFile { name: name.to_owned(), requirements: None, packages: None, parts: Vec::new() }
    }
}
