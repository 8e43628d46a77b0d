//! What a worker says of the machine that it runs on.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Answer, Failure, Identity, tcp};

/// Seconds since 1970-01-01 UTC.
pub(super) fn clock() -> f64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// Tells this worker from others: random, and no secret.
pub(super) fn nonce() -> String {
    let random = RandomState::new().hash_one((std::process::id(), clock().to_bits()));
    format!("{random:016x}")
}

/// The room of the file system at a path.
pub(super) fn space(path: &str) -> Result<Answer, Failure> {
    let found = rustix::fs::statvfs(path).map_err(|error| tcp::failure(&error.into()))?;
    Ok(Answer::Space { total: found.f_blocks * found.f_frsize, free: found.f_bavail * found.f_frsize })
}

pub(super) fn identity() -> Identity {
    let kernel = rustix::system::uname();
    Identity {
        hostname: kernel.nodename().to_string_lossy().into_owned(),
        machine_id: line("/etc/machine-id"),
        boot_id: line("/proc/sys/kernel/random/boot_id"),
        architecture: kernel.machine().to_string_lossy().into_owned(),
        kernel: kernel.release().to_string_lossy().into_owned(),
    }
}

/// What is in a file.
pub(super) fn text(path: &str) -> Option<String> {
    host::file::read(Path::new(path)).ok()?
}

/// The first line of a file, if there is one that is not empty.
pub(super) fn line(path: &str) -> Option<String> {
    let text = text(path)?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
