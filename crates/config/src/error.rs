//! Why a settings file is rejected.

use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use diagnostic::visible;

/// A settings file that cannot be used: nothing of it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, line {line}: {kind}", visible::path(.file))]
pub struct ConfigError {
    /// The file, as it was found.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub kind: ConfigErrorKind,
}

/// What is wrong with a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigErrorKind {
    /// The file is no TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key that no setting has.
    #[error("unknown key {key:?}")]
    UnknownKey {
        /// The key, with the tables around it: `expect.gpu`.
        key: String,
        /// The key of the same table that was most likely meant.
        near: Option<&'static str>,
        /// All keys of that table.
        known: Vec<&'static str>,
    },
    /// A value of another type.
    #[error("{key} must be {wanted}")]
    Type {
        key: String,
        /// What it takes: `a string`.
        wanted: &'static str,
    },
    /// A value that is not in the list.
    #[error("{key}: {value:?} is none of {}", .allowed.join(", "))]
    Value {
        key: String,
        value: String,
        /// What it takes.
        allowed: Vec<String>,
    },
    /// An expectation that `--expect` rejects as well.
    #[error("expect: {0}")]
    Expected(#[from] facts::expected::ExpectedError),
    /// An entry of `ignore` without `id`.
    #[error("an entry of ignore needs an id: the check, the rule or the group")]
    NoId,
    /// A date that is none.
    #[error("until: {0:?} is not a date such as 2027-01-31")]
    Date(String),
    /// An entry of `check` without this key.
    #[error("an entry of check needs {0}")]
    CheckWithout(&'static str),
    /// A name that cannot be part of an id.
    #[error("name: {0:?} is not a name of lower-case letters, digits and hyphens such as scratch-mounted")]
    CheckName(String),
    /// Two entries of `check` have one name.
    #[error("check {0:?} is defined twice in this file")]
    CheckTwice(String),
    /// A list with more entries than anybody needs.
    #[error("{key} has more than {limit} entries")]
    TooMany { key: &'static str, limit: usize },
    /// A pattern of file names that is none.
    #[error("files: {pattern:?}: {error}")]
    Pattern {
        /// The pattern.
        pattern: String,
        error: globset::ErrorKind,
    },
}

impl ConfigError {
    pub(crate) fn at(file: &Path, line: usize, kind: ConfigErrorKind) -> ConfigError {
        ConfigError { file: file.to_owned(), line, kind }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Error {
        let shown = Error::new(Kind::Usage, error.to_string());
        match error.kind {
            ConfigErrorKind::UnknownKey { near, known, .. } => {
                shown.did_you_mean(near).hint(format!("keys here: {}", known.join(", ")))
            }
            _ => shown.hint("`envdoc config` shows the settings; --no-config leaves all files out"),
        }
    }
}
