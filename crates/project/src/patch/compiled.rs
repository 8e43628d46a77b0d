//! Files that a tool makes of others.

use super::writer::Writer;

/// How a requirements file says that it was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// `pip-compile --generate-hashes requirements.in`
    command: Option<String>,
}

impl Header {
    /// The comments of pip-tools and uv at the beginning of a file.
    pub(super) fn of(text: &str) -> Header {
        let comments = text.trim_start_matches('\u{feff}').lines().take(10);
        let mut comments = comments.map_while(|line| line.trim().strip_prefix('#')).map(str::trim);
        let made = comments.any(|line| line.ends_with("following command:"));
        let command = comments.find(|line| !line.is_empty()).filter(|_| made).map(str::to_owned);
        Header { command }
    }

    /// The file that the tool reads.
    fn source(&self) -> Option<&str> {
        let command = self.command.as_deref()?;
        command.split_whitespace().rfind(|word| word.ends_with(".in") || word.ends_with(".toml"))
    }

    /// Where to require another version, and how to make the file again.
    pub(super) fn again(&self, file: &str) -> String {
        match (&self.command, self.source()) {
            (Some(command), Some(source)) => format!("in {source} and run `{command}`"),
            (Some(command), None) => format!("where it is made from and run `{command}`"),
            (None, _) => {
                format!("where it is made from and run `uv pip compile --generate-hashes -o {file} FILE`")
            }
        }
    }
}

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
