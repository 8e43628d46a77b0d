//! Lock files: `uv.lock`, `poetry.lock` and `pylock.toml`.
//!
//! In: the text of one. Out: a [`Lock`], and what of it is installed on a machine ([`Lock::selected`]).

mod poetry;
mod pylock;
mod select;
mod toml_file;
mod uv;

use std::collections::BTreeMap;

use pep440_rs::{Version, VersionSpecifiers};

use crate::declared::{Declared, PythonRange};
use crate::error::ProjectError;
use crate::not_read::Reason;

/// The packages of a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// As it is shown: relative to the working directory.
    pub file: String,
    pub format: LockFormat,
    /// The Python that it is for, where the file says so.
    pub python: Option<Declared<PythonRange>>,
    /// Markers of the environments that it was made for, of which one must hold; none: any.
    environments: Vec<String>,
    pub packages: Vec<Locked>,
    roots: Roots,
}

/// Which program writes the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFormat {
    Uv,
    Poetry,
    /// PEP 751
    Pylock,
}

/// A package of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    /// As indexes compare it: `flash-attn`.
    pub name: String,
    /// `None`: of a package without one, such as the project itself.
    pub version: Option<Version>,
    /// Of its name in the file, from 1.
    pub line: usize,
    pub source: LockedSource,
    /// Where a part of the project lies, relative to the lock.
    pub directory: Option<String>,
    /// Of every file that may be installed: `sha256:…`
    pub hashes: Vec<String>,
    /// Whether it is installed, where the file says so itself.
    condition: Condition,
    dependencies: Vec<Edge>,
    /// By extra.
    extras: BTreeMap<String, Vec<Edge>>,
    /// By dependency group.
    groups: BTreeMap<String, Vec<Edge>>,
}

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockedSource {
    /// An index, without its login; `None`: the default one.
    Index(Option<String>),
    /// The project itself, or a part of it.
    Own,
    /// Neither: it is not installed by envdoc.
    Elsewhere(Reason),
}

/// When a package is installed, whatever requires it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Condition {
    /// It must hold; `None`: always.
    marker: Option<String>,
    /// One of these groups must be chosen; `None`: the file does not say.
    groups: Option<Vec<Grouped>>,
    /// Whether only an extra brings it.
    optional: bool,
}

/// A group of a package, and the marker that must hold in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grouped {
    /// `main` are the dependencies of the project itself.
    name: String,
    marker: Option<String>,
}

/// A requirement of one package on another.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub name: String,
    pub extras: Vec<String>,
    pub marker: Option<String>,
    /// Empty: any.
    pub versions: VersionSpecifiers,
    /// With its local part, where the lock has several versions.
    pub exact: Option<Version>,
    /// Where the lock has the version from several.
    pub source: Option<LockedSource>,
}

/// What is asked for in the first place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Roots {
    /// The packages at these indexes: the project, or all members of a workspace.
    Packages(Vec<usize>),
    /// Every package says itself whether it is installed.
    Everything,
    /// The dependencies that the project declares.
    Declared,
}

/// What a machine and the user choose of a lock.
#[derive(Debug, Clone, Copy)]
pub struct Target<'c> {
    /// The minor number of CPython 3.
    pub python: u32,
    /// `x86_64`
    pub architecture: &'c str,
    pub extras: &'c [String],
    pub groups: &'c [String],
    /// What the project declares itself, of which `poetry.lock` before 2.1 says nothing.
    pub declared: &'c [Edge],
}

impl LockFormat {
    /// The usual name of the file.
    pub fn file_name(self) -> &'static str {
        match self {
            LockFormat::Uv => "uv.lock",
            LockFormat::Poetry => "poetry.lock",
            LockFormat::Pylock => "pylock.toml",
        }
    }

    /// Where pyproject.toml says which index a package comes from.
    pub fn index_key(self) -> &'static str {
        match self {
            LockFormat::Uv | LockFormat::Pylock => "[[tool.uv.index]] and [tool.uv.sources]",
            LockFormat::Poetry => "[[tool.poetry.source]] with priority = \"explicit\"",
        }
    }

    /// The command that regenerates it.
    pub fn command(self) -> &'static str {
        match self {
            LockFormat::Uv => "uv lock",
            LockFormat::Poetry => "poetry lock",
            LockFormat::Pylock => "uv export --format pylock.toml --output-file pylock.toml",
        }
    }

    /// The command that moves packages, by name and version.
    pub fn upgrade(self, packages: &[(String, String)]) -> String {
        let each = |one: fn(&str, &str) -> String| {
            packages.iter().map(|(name, version)| one(name, version)).collect::<String>()
        };
        match self {
            LockFormat::Uv => {
                let options = each(|name, version| format!(" --upgrade-package {name}=={version}"));
                format!("uv lock{options}")
            }
            LockFormat::Poetry => {
                let packages = each(|name, version| format!(" {name}@{version}"));
                format!("poetry add --lock{packages}")
            }
            LockFormat::Pylock => self.command().to_owned(),
        }
    }
}

/// The formats, the one that is preferred first.
pub(crate) const FORMATS: &[LockFormat] = &[LockFormat::Uv, LockFormat::Poetry, LockFormat::Pylock];

/// Reads a lock file.
///
/// # Errors
///
/// TOML that cannot be parsed, a format of the file that is not known, or a package that names no version.
pub fn read_lock(format: LockFormat, file: &str, text: &str) -> Result<Lock, ProjectError> {
    match format {
        LockFormat::Uv => uv::read(file, text),
        LockFormat::Poetry => poetry::read(file, text),
        LockFormat::Pylock => pylock::read(file, text),
    }
}

#[cfg(test)]
mod tests;
