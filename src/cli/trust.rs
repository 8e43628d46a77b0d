//! `envdoc trust`.

use std::path::{Path, PathBuf};

use ::config::{Guarded, Settings};
use diagnostic::error::{Error, Kind};
use diagnostic::{terminal, visible};
use host::file;

use super::settings::{self, SettingsFiles};

/// Let the settings of a project's file run commands and set mirrors.
///
/// A settings file comes with its checkout, so envdoc runs none of its own checks, and takes no mirror,
/// registry or cluster file elsewhere from it, until you have trusted the file. Read it first. Trust holds
/// for this path and this content: a changed file must be trusted again. It does not cover the scripts that
/// its commands start.
///
/// Kept in envdoc/trust of the user's state directory (~/.local/state). With sudo, the user is root.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Settings file [default: that of the project, here or above].
    file: Option<PathBuf>,

    /// List the trusted files.
    #[arg(long, conflicts_with_all = ["file", "revoke"])]
    list: bool,

    /// No longer trust the file.
    #[arg(long)]
    revoke: bool,
}

const EXAMPLES: &str = "\
Examples:
  envdoc trust                         # the envdoc.toml of this project
  envdoc trust --list
  envdoc trust --revoke old/envdoc.toml";

impl Args {
    pub(super) fn run(self, files: &SettingsFiles) -> Result<u8, Error> {
        if self.list {
            return terminal::print(&list()).map(|()| 0);
        }
        let file = self.file(files)?;
        let shown = visible::path(&file);
        let store = settings::trust_store();
        if self.revoke {
            let message = match store.remove(&file)? {
                true => format!("{shown} is no longer trusted"),
                false => format!("{shown} was not trusted"),
            };
            terminal::note(&message);
            return Ok(0);
        }
        let (content, text) = ::config::load_one(&file)?;
        let today = settings::today().to_string();
        terminal::print(&granted(&content))?;
        store.add(&file, &text, today)?;
        terminal::note(&format!("{shown} is trusted"));
        Ok(0)
    }

    fn file(&self, files: &SettingsFiles) -> Result<PathBuf, Error> {
        if let Some(file) = &self.file {
            if !self.revoke && !file::is_file(file) {
                return Err(file::missing(file));
            }
            return Ok(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        }
        files.origins()?.project.ok_or_else(|| {
            Error::new(Kind::Usage, "no settings file of a project here or above")
                .hint("name one: envdoc trust FILE")
        })
    }
}

/// What the file may do when it is trusted.
fn granted(content: &Settings) -> String {
    let mut text = String::new();
    for check in &content.checks {
        text.push_str(&format!("{}  runs `{}`\n", check.id(), check.shown_command()));
    }
    let mut value = |key: &str, set: Option<String>| {
        if let Some(set) = set {
            text.push_str(&format!("{key}  {}\n", visible::line(&set)));
        }
    };
    let string = |set: &Option<Guarded<String>>| set.as_ref().map(|set| set.shown().value.clone());
    value("pip-index", string(&content.pip_index));
    value("apt-mirror", string(&content.apt_mirror));
    value("registry", string(&content.registry));
    let path = |set: &Guarded<PathBuf>| set.shown().value.display().to_string();
    value("cluster-file", content.cluster_file.as_ref().map(path));
    match text.is_empty() {
        true => "It has no settings that require trust.\n".to_owned(),
        false => text,
    }
}

fn list() -> String {
    let all = settings::trust_store().all();
    let mut text = String::new();
    for entry in &all {
        let state = match entry.is_current() {
            Some(true) => "",
            Some(false) => ", changed since: not trusted",
            None => ", cannot be read",
        };
        let file = visible::path(Path::new(&entry.file));
        text.push_str(&format!("{file}  (since {}{state})\n", visible::line(&entry.since)));
    }
    if all.is_empty() { "No file is trusted.\n".to_owned() } else { text }
}
