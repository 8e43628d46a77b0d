//! `envdoc cluster rotate-keys`.

use super::Source;
use crate::cli::settings::SettingsFiles;
use ::cluster::keys;
use diagnostic::error::Error;
use diagnostic::{terminal, visible};

/// Create new SSH keys for a cluster: the client keys and those of every node.
///
/// Writes them to .envdoc/ssh next to the cluster file. The nodes use the old keys until the next
/// `envdoc cluster up`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster rotate-keys
  envdoc cluster up             # install the new keys";

impl Args {
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        if plan.ssh.is_none() {
            terminal::note(&format!("cluster {} has no SSH server, so it has no keys", plan.name));
            return Ok(0);
        }
        let directory = keys::directory(plan.origin.as_deref());
        keys::rotate(&directory, &plan)?;
        terminal::note(&format!("created new keys of {} in {}", plan.name, visible::path(&directory)));
        terminal::note("install them with `envdoc cluster up`; until then the nodes accept the old keys");
        Ok(0)
    }
}
