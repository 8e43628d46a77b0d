//! Files whose text changes: shown as a diff, written with a backup.

use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use diagnostic::visible;
use host::file;
use similar::TextDiff;

/// Unchanged lines around a change in a diff, like `diff -u`.
const CONTEXT_LINES: usize = 3;

/// A file, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its name, as it is shown: a path.
    pub name: String,
    /// Its text as it was read.
    pub before: String,
    /// Its text with the edits.
    pub after: String,
}

impl ChangedFile {
    /// What changes, as a unified diff.
    pub fn diff(&self) -> String {
        let name = visible::line(&self.name);
        let diff = TextDiff::from_lines(&self.before, &self.after);
        diff.unified_diff().context_radius(CONTEXT_LINES).header(&name, &name).to_string()
    }

    /// Writes the file with its mode, and its old text next to it; the path of that backup. A link stays one.
    ///
    /// # Errors
    /// The file is not as it was read, or one of the two cannot be written.
    pub fn write(&self) -> Result<PathBuf, Error> {
        let (path, judged) = self.unchanged(&self.before)?;
        let mode = file::mode(&path);
        let backup = free_backup(&path);
        file::create_with_mode(&backup, self.before.as_bytes(), mode.unwrap_or(0o600))?;
        if let Err(error) = file::write_over(&path, self.after.as_bytes(), mode, &judged) {
            return Err(match file::remove_file(&backup) {
                Ok(()) => error,
                Err(_) => error.hint(format!("remove the backup: {}", backup.display())),
            });
        }
        Ok(backup)
    }

    /// The real path of the file and what is there, if that is still this text.
    fn unchanged(&self, text: &str) -> Result<(PathBuf, file::Existing), Error> {
        let path = Path::new(&self.name);
        let path = file::canonical(path).map_err(|error| file::unreadable(path, &error))?;
        let judged = file::look(&path)?;
        if judged.text.as_deref() != Some(text) {
            let message = format!("{} changed while envdoc was working on it", self.name);
            return Err(Error::new(Kind::File, message).hint("run the command again"));
        }
        Ok((path, judged))
    }

    /// Takes a [`ChangedFile::write`] back.
    fn restore(&self, backup: &Path) -> Result<(), Error> {
        let (path, judged) = self.unchanged(&self.after)?;
        file::write_over(&path, self.before.as_bytes(), file::mode(&path), &judged)?;
        file::remove_file(backup)
    }
}

/// Writes all files, or none; the paths of the backups.
///
/// # Errors
/// One is not as it was read, or cannot be written. Those that were written before it have their old text.
pub fn write_all(files: &[ChangedFile]) -> Result<Vec<PathBuf>, Error> {
    for one in files {
        one.unchanged(&one.before)?;
    }
    let mut backups: Vec<PathBuf> = Vec::new();
    for one in files {
        match one.write() {
            Ok(backup) => backups.push(backup),
            Err(mut error) => {
                for (written, backup) in files.iter().zip(&backups).rev() {
                    if written.restore(backup).is_err() {
                        let backup = backup.display();
                        error = error.hint(format!("the old text of {} is in {backup}", written.name));
                    }
                }
                return Err(error);
            }
        }
    }
    Ok(backups)
}

/// A name for the old text that no file has: `FILE.orig`, else `FILE.1.orig`.
fn free_backup(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = path.with_file_name(format!("{name}.orig"));
    let numbered = (1..).map(|number: u32| path.with_file_name(format!("{name}.{number}.orig")));
    std::iter::once(first).chain(numbered).find(|path| !file::exists(path)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
