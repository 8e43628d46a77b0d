//! Files that a tool makes of others.

use super::header::Header;
use super::writer::Writer;

/// Lock files, and what makes them again.
const LOCKS: &[(&str, &str)] =
    &[("uv.lock", "uv lock"), ("poetry.lock", "poetry lock"), ("pdm.lock", "pdm lock")];

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
        if !file.ends_with("pyproject.toml") {
            continue;
        }
        for (lock, command) in LOCKS {
            if writer.project.not_read.iter().any(|one| one.file == file.replace("pyproject.toml", lock)) {
                writer.notes.push(format!("{lock} is older than {file} after this change: run `{command}`."));
            }
        }
    }
}
