//! What a worker says of the machine that it runs on.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Answer, Failure, Identity, tcp};

/// The size of the file that [`super::Task::Space`] makes: one buffer of NCCL (`NCCL_BUFFSIZE`).
pub const SPACE_TRIAL_BYTES: u64 = 4 << 20;

/// Why no file can be made in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unusable {
    /// Its file system is mounted read-only.
    ReadOnly,
    /// There is no room.
    Full,
    /// The directory's mode or a security module does not allow it.
    Denied,
    /// Any other error of the system.
    Other(String),
}

/// Seconds since 1970-01-01 UTC.
pub(super) fn clock() -> f64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// Tells workers and measurements apart: random, and no secret.
pub(crate) fn nonce() -> String {
    let random = RandomState::new().hash_one((std::process::id(), clock().to_bits()));
    format!("{random:016x}")
}

/// The room of the file system at a directory, and whether a file can be made in it.
pub(super) fn space(path: &str) -> Result<Answer, Failure> {
    let found = rustix::fs::statvfs(path).map_err(|error| tcp::failure(&error.into()))?;
    let (total, free) = (found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize);
    Ok(Answer::Space { total, free, unusable: trial_file(path).err().map(unusable) })
}

/// Makes a file as NCCL does, with its memory reserved, and removes it.
fn trial_file(directory: &str) -> rustix::io::Result<()> {
    let path = format!("{directory}/envdoc-{}", nonce());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::unlink(&path)?;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, SPACE_TRIAL_BYTES) {
        // Where /dev/shm is a directory of a disk, its file system may not reserve at all.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        reserved => reserved,
    }
}

fn unusable(error: Errno) -> Unusable {
    match error {
        Errno::ROFS => Unusable::ReadOnly,
        Errno::NOSPC | Errno::DQUOT => Unusable::Full,
        Errno::ACCESS | Errno::PERM => Unusable::Denied,
        other => Unusable::Other(other.to_string()),
    }
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
