//! Environment markers (PEP 508) on Linux x86_64 with CPython.

use std::str::FromStr;

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, Requirement};

/// Whether a marker holds on Linux x86_64 with this CPython; `None` if it is not a marker.
pub fn marker_holds(marker: &str, python: u32) -> Option<bool> {
    let requirement: Requirement<pep508_rs::VerbatimUrl> =
        Requirement::from_str(&format!("x ; {marker}")).ok()?;
    Some(requirement.marker.evaluate(&environment(python).ok()?, &[] as &[ExtraName]))
}

/// A Python version without an environment.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a marker environment for Python 3.{python}: {reason}")]
pub struct EnvironmentError {
    /// The minor version.
    pub python: u32,
    /// The parser's message.
    pub reason: String,
}

/// What markers are evaluated in, for CPython 3.`python`.
pub fn environment(python: u32) -> Result<MarkerEnvironment, EnvironmentError> {
    let version = format!("3.{python}");
    let full = format!("{version}.9");
    MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: "cpython",
        implementation_version: &full,
        os_name: "posix",
        platform_machine: "x86_64",
        platform_python_implementation: "CPython",
        platform_release: "6.8.0",
        platform_system: "Linux",
        platform_version: "1",
        python_full_version: &full,
        python_version: &version,
        sys_platform: "linux",
    })
    .map_err(|error| EnvironmentError { python, reason: error.to_string() })
}
