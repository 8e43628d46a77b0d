//! What is wrong with the files of a project: what a person has to fix before envdoc can say anything.

use diagnostic::error::{Error, Kind};
use diagnostic::words::and;
use resolve::marker::{EnvironmentError, RequirementError};

/// A fault of a project's files.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{name} is not a directory")]
    NotADirectory { name: String },
    #[error("{directory} has no {looked_for}")]
    Nothing { directory: String, looked_for: String },
    /// Several files, and none of them is the usual one.
    #[error("{directory} has {candidates} and no requirements.txt")]
    Choose { directory: String, candidates: String },
    #[error("{file}:{line}: not valid TOML: {why}")]
    Toml { file: String, line: usize, why: String },
    #[error("{file}:{line}: {key} is not {expected}")]
    NotOfType { file: String, line: usize, key: String, expected: &'static str },
    #[error("{file}:{line}: {key} {text:?} is not a range of versions; example: {example}")]
    Range { file: String, line: usize, key: &'static str, text: String, example: &'static str },
    #[error("{file}:{line}: no index has the name {name:?}")]
    UnknownIndex { file: String, line: usize, name: String, near: Option<String> },
    #[error("{file}:{line}: the group {name:?} does not exist")]
    UnknownGroup { file: String, line: usize, name: String, near: Option<String> },
    #[error("{file}:{line}: the group {again} includes itself ({})", .chain.join(" → "))]
    CircularGroup { file: String, line: usize, again: String, chain: Vec<String> },
    #[error("{file}:{line}: extras or groups include each other more than {limit} times")]
    TooManyIncludes { file: String, line: usize, limit: usize },
    #[error("{file}:{line}: {} cannot be combined", and(.names))]
    Exclusive { file: String, line: usize, names: Vec<String> },
    /// A name that the user gave. `what`: `extra` or `group`.
    #[error("the project has no {what} {name:?}")]
    NotOffered { what: &'static str, name: String, near: Option<String>, offered: Vec<String> },
    #[error("{file}:{line}: cannot read the requirement {text:?}: {why}")]
    Requirement { file: String, line: usize, text: String, why: RequirementError },
    #[error("{file}:{line}: {again} includes itself ({})", .chain.join(" → "))]
    Circular { file: String, line: usize, again: String, chain: Vec<String> },
    #[error("{file}:{line}: files include each other more than {limit} levels deep")]
    TooDeep { file: String, line: usize, limit: usize },
    #[error("{file}:{line}: cannot read {named}: no such file")]
    Missing { file: String, line: usize, named: String },
    #[error("{file}:{line}: not UTF-8")]
    Encoding { file: String, line: usize },
    #[error("{file}: the files of the project have more than {limit} lines together")]
    TooLong { file: String, limit: usize },
    #[error("{file}: not a lock file: it has no format version")]
    NoLock { file: String },
    #[error("{file}: format {version:?} is not supported; envdoc reads {}", .known.join(", "))]
    LockFormat { file: String, version: String, known: &'static [&'static str] },
    #[error("{file}:{line}: {text:?} of {name} is not a version")]
    LockVersion { file: String, line: usize, name: String, text: String },
    #[error("{file}:{line}: cannot evaluate the marker {text:?}: {why}")]
    LockMarker { file: String, line: usize, text: String, why: RequirementError },
    #[error("{file}: {why}")]
    LockEnvironment { file: String, why: EnvironmentError },
    /// An extra of the project that was added after the lock was made.
    #[error("{file} does not have the extra {name:?}")]
    NotLocked { file: String, name: String, command: &'static str },
    /// A lock of Poetry 1.
    #[error("{file} has several versions of {name} and does not say which one is for which Python")]
    LockUndecided { file: String, name: String, command: &'static str },
    #[error("{file} supports no Python of the project on {architecture}")]
    LockUnsupported { file: String, architecture: String },
    #[error("{lock} has no version that {declared} allows")]
    OldLock { lock: String, declared: String, command: &'static str },
    #[error("cannot read {file}: {why}")]
    Io { file: String, why: String },
}

impl ProjectError {
    /// What the TOML parser says of a line.
    pub(crate) fn toml(file: &str, line: usize, error: &toml::de::Error) -> ProjectError {
        let why = error.message().lines().next().unwrap_or_default().to_owned();
        ProjectError::Toml { file: file.to_owned(), line, why }
    }
}

impl From<ProjectError> for Error {
    fn from(error: ProjectError) -> Error {
        let hint = match &error {
            ProjectError::Nothing { .. } => Some("name the file: --requirements FILE".to_owned()),
            ProjectError::Choose { .. } => Some("choose one or more: --requirements FILE".to_owned()),
            ProjectError::Encoding { file, .. } => {
                Some(format!("save {file} as UTF-8: `iconv -f LATIN1 -t UTF-8`, if it is Latin-1"))
            }
            ProjectError::LockUnsupported { .. } => {
                Some("use the ranges of the project: --without-lock".to_owned())
            }
            ProjectError::LockUndecided { command, .. } => Some(format!(
                "regenerate it with Poetry 2: `{command}`; or use the ranges of the project: --without-lock"
            )),
            ProjectError::OldLock { command, .. } | ProjectError::NotLocked { command, .. } => Some(format!(
                "update the lock: `{command}`; or use the ranges of the project: --without-lock"
            )),
            ProjectError::NotOffered { what, offered, .. } => Some(match &offered[..] {
                [] => format!("no file of the project defines {what}s"),
                names => format!("{what}s of the project: {}", names.join(", ")),
            }),
            _ => None,
        };
        let near = match &error {
            ProjectError::NotOffered { near, .. }
            | ProjectError::UnknownIndex { near, .. }
            | ProjectError::UnknownGroup { near, .. } => near.as_deref(),
            _ => None,
        };
        let whole = Error::new(Kind::File, error.to_string()).did_you_mean(near);
        hint.into_iter().fold(whole, Error::hint)
    }
}
