//! `envdoc worker`, which envdoc itself starts on nodes and in containers.

use crate::error::Error;
use crate::worker::serve;

/// Do what envdoc on another machine asks, one JSON object a line, until standard input ends.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    /// Works.
    pub fn run(self) -> Result<u8, Error> {
        serve::serve().map(|()| 0)
    }
}
