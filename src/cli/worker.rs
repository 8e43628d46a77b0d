//! `envdoc worker`, which envdoc itself starts on nodes and in containers.

use std::path::PathBuf;
use std::time::Duration;

use ::cluster::smoke::worker_tasks::PROGRAMS;
use ::cluster::worker::bundle::Bundle;
use ::cluster::worker::serve;
use diagnostic::error::Error;
use diagnostic::terminal;

/// Do what envdoc on another machine asks, one JSON object a line, until standard input ends.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// At the end, remove this directory, which the program was brought in.
    #[arg(long, value_name = "DIR")]
    and_remove: Option<PathBuf>,

    /// End where nothing came on standard input for so long; an empty line is a sign of life.
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds)]
    silence: Option<Duration>,

    /// Only write this program with the libraries that it needs to standard output, as a tar.
    #[arg(long)]
    bundle: bool,
}

impl Args {
    /// Works.
    pub fn run(self) -> Result<u8, Error> {
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
