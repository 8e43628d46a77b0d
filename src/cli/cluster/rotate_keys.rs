//! `envdoc cluster rotate-keys`.

use super::Source;
use ::cluster::keys;
use diagnostic::error::Error;
use diagnostic::terminal;

/// Make new SSH keys for a cluster: the clients' and every node's.
///
/// They are in .envdoc/ssh beside the cluster's description. The nodes keep the old ones until `envdoc cluster up` brings them the new.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,
}

impl Args {
    /// Makes them.
    pub fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        if plan.ssh.is_none() {
            terminal::note(&format!("{} has no SSH server, and so no keys", plan.name));
            return Ok(0);
        }
        let directory = keys::directory(plan.origin.as_deref());
        keys::rotate(&directory, &plan)?;
        terminal::note(&format!("new keys of {} are in {}", plan.name, directory.display()));
        terminal::note("the nodes get them with `envdoc cluster up`; until then the old ones open them");
        Ok(0)
    }
}
