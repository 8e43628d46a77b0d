//! The scripts of the build context that a container of the image runs.

use super::dockerfile::Dockerfile;
use super::dockerfile::command::Command;
use super::dockerfile::start::script_paths;
use super::script::Script;

/// A shell script of the build context that a container of the image starts.
#[derive(Debug)]
pub(crate) struct EntryScript {
    /// The line of the instruction that starts it, from 1.
    pub line: usize,
    /// Its path in the build context.
    pub path: String,
    pub commands: Vec<Command>,
}

/// The shell scripts that a container of the image starts, where the build context has them.
pub(crate) fn entry_scripts(file: &Dockerfile) -> Vec<EntryScript> {
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    let mut found: Vec<EntryScript> = Vec::new();
    for (line, path) in script_paths(file) {
        let Some((place, text)) = file.text_at(end, &path) else { continue };
        let first = text.lines().next().unwrap_or_default();
        let is_shell = match first.strip_prefix("#!") {
            Some(shell) => shell.contains("sh"),
            None => place.ends_with(".sh"),
        };
        if is_shell && found.iter().all(|one| one.path != place) {
            let commands = Script::read(file.catalog, text).commands;
            found.push(EntryScript { line, path: place, commands });
        }
    }
    found
}
