//! `envdoc worker`, which envdoc itself starts on nodes and in containers.

use std::path::PathBuf;
use std::time::Duration;

use ::cluster::smoke::worker_tasks::PROGRAMS;
use ::cluster::worker::bundle::Bundle;
use ::cluster::worker::serve;
use diagnostic::error::Error;
use diagnostic::terminal;

/// Serve requests of envdoc on another machine, one JSON object per line, until standard input ends.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Remove DIR, which the program was copied into, before exiting.
    #[arg(long, value_name = "DIR")]
    and_remove: Option<PathBuf>,

    /// Exit if standard input is silent for this long; an empty line is a keep-alive.
    #[arg(long, value_name = "SECONDS", value_parser = super::values::seconds)]
    silence: Option<Duration>,

    /// Write this program and its libraries to standard output as a tar archive, and exit.
    #[arg(long)]
    bundle: bool,
}

impl Args {
    /// Works.
    pub(super) fn run(self) -> Result<u8, Error> {
        if self.bundle {
            return terminal::bytes(&Bundle::make()?.tar).map(|()| 0);
        }
        let served = serve::serve(self.silence, PROGRAMS);
        if let Some(folder) = self.and_remove {
            serve::remove(&folder)?;
        }
        served.map(|()| 0)
    }
}
