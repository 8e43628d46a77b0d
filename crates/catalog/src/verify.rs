//! Holds files of the catalog to its rules: those in use, or those of a directory.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::cache::{self, Cache, CacheError};
use crate::rules::{self, Broken};
use crate::{Catalog, embedded};

/// What was verified, and what is wrong.
#[derive(Debug, serde::Serialize)]
pub struct Verified {
    schema: u32,
    pub files: usize,
    /// Rows of these files.
    pub rows: usize,
    /// Violations of rules; empty: valid.
    pub broken: Vec<Broken>,
}

/// Files that could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The directory has no file of the catalog.
    #[error("no catalog files in {}", .0.display())]
    NoFiles(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}: {why}", .path.display())]
    Unreadable {
        path: PathBuf,
        /// The reason.
        why: CacheError,
    },
}

impl VerifyError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            VerifyError::NoFiles(_) => Some("`envdoc catalog show` lists the file names"),
            VerifyError::Unreadable { .. } => None,
        }
    }
}

impl Verified {
    /// The embedded and the cached files.
    pub fn in_use(catalog: &Catalog) -> Result<Verified, VerifyError> {
        let mut verified = Verified::empty();
        for file in embedded::all() {
            verified.add(&file.name, file.text, &embedded_text);
        }
        if let Some(dir) = catalog.cache().map(Cache::dir) {
            for name in cache::names(dir) {
                verified.add_file(dir, &name)?;
            }
        }
        Ok(verified)
    }

    /// The files of a directory.
    pub fn folder(dir: &Path) -> Result<Verified, VerifyError> {
        let names = cache::names(dir);
        if names.is_empty() {
            return Err(VerifyError::NoFiles(dir.to_owned()));
        }
        let mut verified = Verified::empty();
        for name in &names {
            verified.add_file(dir, name)?;
        }
        Ok(verified)
    }

    fn empty() -> Verified {
        Verified { schema: 1, files: 0, rows: 0, broken: Vec::new() }
    }

    fn add_file(&mut self, dir: &Path, name: &str) -> Result<(), VerifyError> {
        let path = dir.join(name);
        let text = cache::read(&path).map_err(|why| VerifyError::Unreadable { path, why })?;
        // References resolve to the same directory, else to the embedded catalog.
        self.add(name, &text, &|other| {
            cache::read(&dir.join(other)).ok().map(Cow::Owned).or_else(|| embedded_text(other))
        });
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str, others: rules::Others<'_>) {
        self.files += 1;
        self.rows += rules::count(name, text);
        self.broken.extend(rules::broken(name, text, others));
    }
}

fn embedded_text(name: &str) -> Option<Cow<'static, str>> {
    embedded::file_named(name).map(|file| file.text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::catalog;

    #[test]
    fn the_embedded_files_are_valid() {
        let verified = Verified::in_use(catalog()).unwrap();
        assert!(verified.broken.is_empty(), "{:?}", verified.broken);
        assert_eq!(verified.files, embedded::all().count());
        assert!(verified.rows > 1000);
    }

    #[test]
    fn directory_without_files_is_an_error() {
        let error = Verified::folder(Path::new("/nonexistent")).unwrap_err();
        assert!(matches!(error, VerifyError::NoFiles(_)));
        assert!(error.hint().is_some());
    }
}
