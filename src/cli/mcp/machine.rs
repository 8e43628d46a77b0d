//! The machines that tools examine, redacted unless a call says otherwise.

use std::path::Path;
use std::time::Duration;

use diagnostic::error::{Error, Kind};
use facts::{Expected, Facts, gather};
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

/// What was read of this machine.
pub(super) fn here(program: &Program, timeout: Option<Duration>, redact: bool) -> Result<Snapshot, Error> {
    let (recorder, _) =
        crate::cli::read_machine(program.catalog, None, timeout, Expected::default(), &program.interrupts)?;
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
