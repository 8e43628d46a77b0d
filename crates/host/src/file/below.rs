//! What is below a directory.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Directories that hold nothing that a person wrote for this project.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// What is below a directory.
#[derive(Debug, Default)]
pub struct Below {
    /// Every file, in the order of their names.
    pub files: Vec<PathBuf>,
    /// What is neither a file nor a directory: links, which are not followed, pipes, sockets, devices.
    pub others: Vec<PathBuf>,
    /// Python's virtual environments, which are not searched: they hold what was installed.
    pub environments: Vec<PathBuf>,
    /// Directories that cannot be listed, and why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// Every file below a directory, links not followed; `None` where the path is no directory. An error where
/// the directory itself cannot be listed.
pub fn below(directory: &Path) -> io::Result<Option<Below>> {
    if !directory.is_dir() {
        return Ok(None);
    }
    let (mut found, mut open) = (Below::default(), Vec::new());
    list(directory, &mut found, &mut open)?;
    while let Some(folder) = open.pop() {
        if let Err(error) = list(&folder, &mut found, &mut open) {
            found.unreadable.push((folder, error));
        }
    }
    found.files.sort();
    found.others.sort();
    found.environments.sort();
    found.unreadable.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Some(found))
}

/// Adds the files of one directory, and its directories to `open`.
fn list(folder: &Path, found: &mut Below, open: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
        match entry.file_type()? {
            kind if kind.is_dir() && entry.path().join("pyvenv.cfg").is_file() => {
                found.environments.push(entry.path());
            }
            kind if kind.is_dir() && !skipped => open.push(entry.path()),
            kind if kind.is_file() => found.files.push(entry.path()),
            kind if kind.is_dir() => {}
            _ => found.others.push(entry.path()),
        }
    }
    Ok(())
}
