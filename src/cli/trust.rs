//! `envdoc trust`.

use std::path::{Path, PathBuf};

use ::config::{Guarded, Origins, Settings};
use diagnostic::error::{Error, Kind};
use diagnostic::{terminal, visible};

use super::settings::{self, SettingsFiles};

/// Trust a project's settings file.
///
/// Such a file comes with the checkout. Until you trust it, envdoc does not run its checks and refuses its
/// mirrors, its registry and a cluster file outside its directory. Read the file first. Trust applies to this
/// path and this content: after a change, trust it again. It does not cover scripts that the commands start.
///
/// Stored in ~/.local/state/envdoc/trust. With sudo, the user is root.
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
        let store = settings::trust_store();
        if self.revoke {
            let Some(revoked) = store.remove(&file)? else {
                let message = format!("{} was not trusted", visible::path(&file));
                return Err(
                    Error::new(Kind::Usage, message).hint("`envdoc trust --list` lists the trusted files")
                );
            };
            terminal::note(&format!("{} is no longer trusted", visible::path(&revoked)));
            return Ok(0);
        }
        let (content, text) = ::config::load_one(&file)?;
        refuse_unusable(files, &file)?;
        // What was read and shown is trusted, even if the link leads elsewhere by now.
        let file = content.files.first().unwrap_or(&file);
        let today = settings::today().to_string();
        terminal::print(&granted(&content))?;
        store.add(file, &text, today)?;
        terminal::note(&format!("{} is trusted", visible::path(file)));
        Ok(0)
    }

    fn file(&self, files: &SettingsFiles) -> Result<PathBuf, Error> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        files.origins()?.project.ok_or_else(|| {
            Error::new(Kind::Usage, "no project settings file here or in a parent directory")
                .hint("name one: envdoc trust FILE")
        })
    }
}

/// Fails if the other commands would refuse the file. Reads it with the other settings files, since it may
/// ignore their own checks.
fn refuse_unusable(files: &SettingsFiles, file: &Path) -> Result<(), Error> {
    let project = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let origins = Origins { project: Some(project), ..files.origins()? };
    settings::known_ids(&::config::load(&origins, &settings::trust_store())?)
}

/// What the file may do when it is trusted.
fn granted(content: &Settings) -> String {
    let mut text = String::new();
    for check in &content.checks {
        // Whole and as it is: what is left out of it could be what does the harm.
        let (command, directory) = (check.whole_command(), visible::path(check.directory()));
        text.push_str(&format!("{}  runs `{command}` in {directory}\n", check.id()));
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
            Some(false) => "; changed since, no longer trusted",
            None => "; cannot be read",
        };
        let file = visible::path(Path::new(&entry.file));
        text.push_str(&format!("{file}  (trusted {}{state})\n", visible::line(&entry.since)));
    }
    if all.is_empty() { "No file is trusted.\n".to_owned() } else { text }
}
