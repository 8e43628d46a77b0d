//! The machines that tools examine, redacted unless a call says otherwise.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use docker::transport::{Endpoint, Transports};
use facts::{Expected, Facts, gather};
use host::Reading;
use host::live::Engines;
use host::snapshot::Snapshot;

use super::Program;
use crate::cli::values;

/// Names of people, machines and networks are replaced where a call does not say otherwise.
pub(super) fn redacted_by_default() -> bool {
    true
}

/// A timeout in an argument, with the limits that the option has.
pub(super) fn timeout(seconds: Option<f64>) -> Result<Option<Duration>, Error> {
    let parsed = seconds.map(|seconds| values::seconds(&seconds.to_string())).transpose();
    parsed.map_err(|error| Error::new(Kind::Usage, format!("timeout: {error}")))
}

/// The engine of this machine. One elsewhere, to which `DOCKER_HOST` or a context may lead, is unknown:
/// asking it would use the network without an argument that says so.
#[derive(Default)]
struct EngineHere(Transports);

impl Engines for EngineHere {
    fn get(&self, endpoint: &str, path: &str, deadline: Instant) -> Reading {
        match Endpoint::from(endpoint).is_elsewhere() {
            true => Reading::failed("it is on another machine, which `envdoc mcp` does not ask"),
            false => self.0.get(endpoint, path, deadline),
        }
    }
}

/// What was read of this machine.
pub(super) fn here(program: &Program, timeout: Option<Duration>, redact: bool) -> Result<Snapshot, Error> {
    let engine = Arc::new(EngineHere::default());
    let (recorder, _) = crate::cli::read_machine_with(
        engine,
        program.catalog,
        None,
        timeout,
        Expected::default(),
        &program.interrupts,
    )?;
    let snapshot = Snapshot::of(recorder.readings());
    Ok(if redact { snapshot.redact() } else { snapshot })
}

/// A recorded machine.
pub(super) fn recorded(file: &Path, redact: bool) -> Result<Snapshot, Error> {
    let snapshot = Snapshot::open(file)?;
    Ok(if redact && !snapshot.redacted { snapshot.redact() } else { snapshot })
}

/// The facts of a recording: what is redacted in it cannot get into a report.
pub(super) fn facts(program: &Program, snapshot: Snapshot, expected: Expected) -> Facts {
    gather::recorded(&*snapshot.host(), expected, program.catalog)
}
