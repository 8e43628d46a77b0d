//! What the commands of a RUN give away, and what root makes with them.

use super::{Owners, Place, make};
use crate::read::dockerfile::Run;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::copied::{PATH_LIMIT_BYTES, join};
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::setup::User;

impl Owners {
    pub(super) fn mounts(&mut self, place: Place, one: &Instruction) {
        for flag in one.flags.iter().filter_map(|flag| flag.strip_prefix("--mount=")) {
            let pairs = flag.split(',').filter_map(|pair| pair.split_once('='));
            for (_, target) in pairs.filter(|(name, _)| matches!(*name, "target" | "dst" | "destination")) {
                self.give(&join("", target), place, true);
            }
        }
    }

    pub(super) fn ran(&mut self, place: Place, run: &Run, user: &User) {
        let command = &run.command;
        let workdir = run.state.files.workdir.as_str();
        let words = command.words.get(1..).unwrap_or_default();
        let short = |letters: &[char]| {
            words.iter().any(|word| {
                word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letters)
            })
        };
        let long =
            |names: &[&str]| words.iter().any(|word| names.iter().any(|one| word.text.starts_with(one)));
        let recursive = short(&['R']) || long(&["--recursive"]);
        match command.program() {
            "chown" | "chmod" | "chgrp" | "setfacl" => self.give_all(place, words, workdir, recursive),
            "fix-permissions" | "mv" | "ln" | "useradd" | "adduser" | "usermod" => {
                self.give_all(place, words, workdir, true);
            }
            "install" if short(&['o', 'g', 'm']) || long(&["--owner", "--group", "--mode"]) => {
                self.give_all(place, words, workdir, false);
            }
            "mkdir" if short(&['m']) || long(&["--mode"]) => self.give_all(place, words, workdir, false),
            "cp" | "rsync" if short(&['a', 'p', 'o']) || long(&["--preserve", "--archive"]) => {
                self.give_all(place, words, workdir, true);
            }
            "umask" => self.lose(place),
            "mkdir" | "install" | "git" if *user == User::Root => {
                for path in words.iter().filter_map(|word| plain(word, workdir)) {
                    make(&mut self.made, &path, command.line);
                }
            }
            _ if hides_change(command) => self.lose(place),
            _ => {}
        }
    }

    /// What a command that changes owners or rights names.
    fn give_all(&mut self, place: Place, words: &[Word], workdir: &str, whole: bool) {
        for word in words {
            // `--home-dir=/srv/app` names it too.
            let option = word.text.starts_with('-');
            let text = match word.text.split_once('=') {
                Some((_, value)) if option => value,
                _ if option => continue,
                _ => word.text.as_str(),
            };
            match text.find(['*', '?', '[', '{']) {
                _ if !word.known || text.contains('$') => return self.lose(place),
                Some(glob) => {
                    let folder = text[..glob].rsplit_once('/').map_or(".", |(folder, _)| folder);
                    self.give(&join(workdir, &format!("{folder}/")), place, true);
                }
                None if text.starts_with(['/', '.']) || workdir.starts_with('/') => {
                    self.give(&join(workdir, text), place, whole);
                }
                None => {}
            }
        }
    }
}

/// A word that is a path, as far as it can be known.
fn plain(word: &Word, workdir: &str) -> Option<String> {
    let text = word.text.as_str();
    let fits = word.known && !text.starts_with('-') && !text.contains(['$', '*', '?', '[', '{', ':']);
    let path = join(workdir, text);
    (fits && path.starts_with('/') && path.len() <= PATH_LIMIT_BYTES).then_some(path)
}

/// Whether another program is handed a change of owners or rights: `find … -exec chown`, `xargs chmod`.
fn hides_change(command: &Command) -> bool {
    let changes = ["chown", "chmod", "setfacl", "chgrp"];
    !matches!(command.program(), "echo" | "printf" | "cat" | "apt-get" | "pip")
        && command.words.iter().any(|word| changes.iter().any(|change| word.text.contains(change)))
}
