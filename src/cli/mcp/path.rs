//! Paths in arguments of tools.

use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use schemars::JsonSchema;
use serde::Deserialize;

/// The path of a file or a directory, relative to the directory in which the client started envdoc.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub(super) struct NamedPath(PathBuf);

impl TryFrom<String> for NamedPath {
    type Error = Error;

    fn try_from(text: String) -> Result<NamedPath, Error> {
        match text.as_str() {
            "-" => {
                Err(Error::new(Kind::Usage, "standard input is the connection to the client: name a file"))
            }
            _ => Ok(NamedPath(text.into())),
        }
    }
}

impl AsRef<Path> for NamedPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// The paths themselves.
pub(super) fn all(named: Vec<NamedPath>) -> Vec<PathBuf> {
    named.into_iter().map(|NamedPath(path)| path).collect()
}
