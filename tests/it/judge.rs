//! The programs that judge what envdoc writes: uv, hadolint, docker compose, sshd, libnccl.
//!
//! `tests/run.sh` installs them and sets `ENVDOC_JUDGES=required`: one that is missing then fails its test.
//! In a plain `cargo test` on a machine without them, their tests say loudly that they were skipped.
#![expect(clippy::disallowed_methods, reason = "a test: it looks for programs and reads the environment")]

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The program that `variable` names, else `name` on PATH or in /usr/sbin.
///
/// # Panics
/// When it is missing and judges are required.
pub(crate) fn find(name: &str, variable: &str, install: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).unwrap_or_else(|| OsString::from(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = match Path::new(&named).components().count() {
        1 => folders.map(|folder| folder.join(&named)).find(|file| file.is_file()),
        _ => Some(PathBuf::from(&named)).filter(|file| file.is_file()),
    };
    if found.is_none() {
        missing(name, install);
    }
    found
}

/// Reports a judge that is not installed.
///
/// # Panics
/// When judges are required.
pub(crate) fn missing(name: &str, install: &str) {
    let required = std::env::var_os("ENVDOC_JUDGES").is_some_and(|value| value == "required");
    assert!(!required, "{name} is required and missing: {install}");
    skipped(&format!("{name} is not installed ({install})"));
}

/// Writes past the capture of the test harness: a skipped test must be seen.
pub(crate) fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
