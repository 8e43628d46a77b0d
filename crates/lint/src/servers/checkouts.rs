//! Servers that are a script in a checkout of their repository: `python main.py` in ComfyUI.

use catalog::Catalog;

use crate::programs::is_python;
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::copied::join;

/// The directories of an image that are checkouts.
#[derive(Debug, Default)]
pub(super) struct Checkouts {
    /// Where its commands run.
    pub workdir: String,
    /// Names of repositories, and where they are cloned to.
    clones: Vec<(String, String)>,
}

impl Checkouts {
    pub(super) fn of(file: &Dockerfile) -> Checkouts {
        let workdir = file.stages.last().map(|stage| stage.end.files.workdir.clone()).unwrap_or_default();
        let clones = file.runs().filter_map(|(_, run)| clone(&run.command, &run.state.files.workdir));
        Checkouts { workdir, clones: clones.collect() }
    }

    /// The commands with the words that run such a script as one: `ComfyUI:main.py`, as the catalog calls its
    /// program.
    pub(super) fn named(&self, catalog: &Catalog, commands: Vec<Command>) -> Vec<Command> {
        let mut folder = self.workdir.clone();
        let mut found = commands;
        for command in &mut found {
            if command.program() == "cd" {
                folder = join(&folder, command.word(1));
            }
            if let Some((at, name)) = self.script(catalog, command, &folder) {
                let word = Word { text: name, ..command.words[at].clone() };
                command.words.splice(..=at, [word]);
            }
        }
        found
    }

    fn script(&self, catalog: &Catalog, command: &Command, folder: &str) -> Option<(usize, String)> {
        let start = usize::from(command.program() == "exec");
        let program = command.word(start).rsplit('/').next().unwrap_or_default().to_owned();
        let next = command.words.iter().skip(start + 1).position(|word| !word.text.starts_with('-'));
        let at = next.filter(|_| is_python(&program))? + start + 1;
        let path = join(folder, command.word(at));
        let (parent, file) = path.rsplit_once('/')?;
        let clone = self.clones.iter().find(|(_, place)| place == parent).map(|(name, _)| name.as_str());
        let name = clone.or_else(|| parent.rsplit('/').next())?;
        let servers = catalog.model_servers().all().iter().flat_map(|one| &one.programs);
        let known = servers.map(|row| row.program.as_str()).find(|program| {
            let parts = program.split_once(':');
            parts.is_some_and(|(repository, script)| repository.eq_ignore_ascii_case(name) && script == file)
        })?;
        Some((at, known.to_owned()))
    }
}

/// The repository that `git clone` fetches, and where to.
fn clone(command: &Command, folder: &str) -> Option<(String, String)> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let url = words.iter().position(|word| word.contains("://") || word.starts_with("git@"))?;
    if command.program() != "git" || !words[..url].contains(&"clone") {
        return None;
    }
    let name = words[url].trim_end_matches('/').trim_end_matches(".git").rsplit('/').next()?;
    let target = words.get(url + 1).filter(|word| !word.starts_with('-')).copied().unwrap_or(name);
    Some((name.to_owned(), join(folder, target)))
}
