//! What is wrong with the files of a project: what a person has to fix before envdoc can say anything.

use diagnostic::error::{Error, Kind};
use resolve::marker::RequirementError;

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
    #[error("{file}:{line}: {what}")]
    Malformed { file: String, line: usize, what: String },
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
    #[error("{lock} is older than {declared}")]
    OldLock { lock: String, declared: String, command: &'static str },
    #[error("cannot read {file}: {why}")]
    Io { file: String, why: String },
}

impl From<ProjectError> for Error {
    fn from(error: ProjectError) -> Error {
        let hint = match &error {
            ProjectError::Nothing { .. } => Some("name the file: --requirements FILE".to_owned()),
            ProjectError::Choose { .. } => Some("choose one or more: --requirements FILE".to_owned()),
            ProjectError::Encoding { file, .. } => {
                Some(format!("save {file} as UTF-8: `iconv -f LATIN1 -t UTF-8`, if it is Latin-1"))
            }
            ProjectError::OldLock { command, .. } => {
                Some(format!("run `{command}`, or leave the lock out: --without-lock"))
            }
            _ => None,
        };
        let whole = Error::new(Kind::File, error.to_string());
        hint.into_iter().fold(whole, Error::hint)
    }
}
