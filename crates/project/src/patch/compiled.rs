//! Files that a tool makes of others.

use std::ffi::OsStr;
use std::path::Path;

use super::header::Header;
use super::writer::Writer;
use crate::find::PYPROJECT;
use crate::lock::FORMATS;

/// A lock that is not read, and what makes it again.
const PDM: (&str, &str) = ("pdm.lock", "pdm lock");

/// Says which files are older than a changed one.
pub(super) fn note(writer: &mut Writer<'_>) {
    let mut files: Vec<String> = writer.edits.iter().map(|edit| edit.file.clone()).collect();
    files.sort();
    files.dedup();
    for file in files {
        let Some(text) = writer.text(&file) else { continue };
        if let Header { command: Some(command) } = Header::of(text) {
            let again = format!("{file} is made by `{command}`; change what it is made from too.");
            writer.notes.push(again);
        }
        let path = Path::new(&file);
        if path.file_name() != Some(OsStr::new(PYPROJECT)) {
            continue;
        }
        let read = FORMATS.iter().map(|format| (format.file_name(), format.command()));
        for (lock, command) in read.chain([PDM]) {
            let lock_name = path.with_file_name(lock).display().to_string();
            if writer.project.not_read.iter().any(|one| one.file == lock_name) {
                writer.notes.push(format!("{lock} is older than {file} after this change: run `{command}`."));
            }
        }
    }
}
