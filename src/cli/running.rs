//! How a command waits for engines, registries and other machines.

use tokio::runtime::Runtime;

use diagnostic::error::{Error, Kind};

pub(super) use docker::interrupted;

/// A runtime of one thread.
pub(super) fn runtime() -> Result<Runtime, Error> {
    docker::runtime().map_err(|error| Error::new(Kind::Engine, error.to_string()))
}
