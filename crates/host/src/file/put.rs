//! How a file gets its name: at once and whole, and never in place of a file that nobody has judged.
#![expect(clippy::disallowed_methods, reason = "the one place that writes files of the user")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use diagnostic::error::{Error, Kind};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A file at a path as it was judged, or that there was none.
#[derive(Debug, Clone, Default)]
pub struct Existing {
    /// Its text; `None` where there was no file.
    pub text: Option<String>,
    pub(super) entry: Option<Entry>,
}

/// Distinguishes an entry of a directory from another, and from itself after it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Entry {
    fn of(about: &fs::Metadata) -> Entry {
        Entry {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
        }
    }

    /// Of a path itself, links not followed: a link is replaced, not what it names.
    fn at(path: &Path) -> io::Result<Option<Entry>> {
        match path.symlink_metadata() {
            Ok(about) => Ok(Some(Entry::of(&about))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads a file to judge it, for [`super::write_over`].
pub fn look(path: &Path) -> Result<Existing, Error> {
    let unreadable = |error: io::Error| super::unreadable(path, &error);
    let before = Entry::at(path).map_err(unreadable)?;
    let text = super::read(path)?;
    // A text of one file must not be taken for that of another.
    match Entry::at(path).map_err(unreadable)? == before {
        true => Ok(Existing { text, entry: before }),
        false => Err(changed(path)),
    }
}

/// What a new file may take the place of.
pub(super) enum Target {
    Whatever,
    /// Nothing: there must be none.
    Nothing,
    /// This one.
    Judged(Entry),
}

/// Refuses a device, a pipe or a socket, or a link to one (`/dev/stdout`).
pub(super) fn refuse_special(path: &Path) -> Result<(), Error> {
    match path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        true => {
            let why = "it is a device or a pipe; writing would replace it with a regular file";
            Err(Error::new(Kind::File, format!("cannot write {}: {why}", path.display())))
        }
        false => Ok(()),
    }
}

/// Writes a file next to `path` and gives it the name.
pub(super) fn put(path: &Path, bytes: &[u8], mode: Option<u32>, target: &Target) -> Result<(), Error> {
    refuse_special(path)?;
    let temporary = temporary(path);
    let written = write_new(&temporary, bytes, mode);
    let own = written.as_ref().ok().copied();
    let result = written.and_then(|_| match target {
        Target::Whatever => fs::rename(&temporary, path).map(|()| true),
        Target::Nothing => move_to_free(&temporary, path),
        Target::Judged(entry) => exchange(&temporary, path, *entry),
    });
    // After an exchange back it may be a third file, of somebody who exchanges them all the time: it stays.
    if !matches!(result, Ok(true)) && own.is_some() && Entry::at(&temporary).ok().flatten() == own {
        let _ = fs::remove_file(&temporary);
    }
    match (result, target) {
        (Ok(true), _) => Ok(()),
        (Ok(false), Target::Judged(_)) => Err(changed(path)),
        (Ok(false), _) => Err(exists(path)),
        (Err(error), _) => Err(Error::new(Kind::File, format!("cannot write {}: {error}", path.display()))),
    }
}

pub(super) fn exists(path: &Path) -> Error {
    Error::new(Kind::File, format!("{} already exists", path.display()))
        .hint("pass --force to replace it, or choose another name")
}

fn changed(path: &Path) -> Error {
    let message = format!("{} changed while envdoc was working on it", path.display());
    Error::new(Kind::File, message).hint("run the command again")
}

/// Gives a file a name that must be free; whether it was.
fn move_to_free(from: &Path, to: &Path) -> io::Result<bool> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // File systems without it (NFS) have links, which never replace anything either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::hard_link(from, to) {
            Ok(()) => fs::remove_file(from).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        },
        Err(error) => Err(error.into()),
    }
}

/// Exchanges two files and removes the one that had the name, if that is the one that was judged; else they
/// are exchanged back. Whether it was.
fn exchange(from: &Path, to: &Path, judged: Entry) -> io::Result<bool> {
    let swap = || renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE);
    match swap() {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        // A file system without it: between this look and the rename is the time of one system call.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            return match Entry::at(to)? == Some(judged) {
                true => fs::rename(from, to).map(|()| true),
                false => Ok(false),
            };
        }
        Err(error) => return Err(error.into()),
    }
    match Entry::at(from)? == Some(judged) {
        true => fs::remove_file(from).map(|()| true),
        false => {
            swap()?;
            Ok(false)
        }
    }
}

/// Creates the file that [`put`] would give the name of `path`, and removes it. access(2) does not suffice:
/// it lets root write everywhere, even in /proc.
pub(super) fn try_new(path: &Path) -> io::Result<()> {
    let temporary = temporary(path);
    fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    fs::remove_file(temporary)
}

fn temporary(path: &Path) -> PathBuf {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{number}.part", std::process::id()))
}

/// Writes a file that must not be there. A mode that is given is the file's whatever the umask takes away.
fn write_new(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<Entry> {
    let first = mode.unwrap_or(0o644);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(first).open(path)?;
    let written = (|| {
        if let Some(mode) = mode {
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        file.metadata()
    })();
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written.map(|about| Entry::of(&about))
}

#[cfg(test)]
mod tests {
    use super::super::{write, write_over};
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn concurrent_creation_never_replaces_a_file() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..300 {
            let (path, start) = (dir.path().join(format!("file{round}")), Barrier::new(2));
            let theirs = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    start.wait();
                    let file = fs::OpenOptions::new().write(true).create_new(true).open(&path);
                    file.and_then(|mut file| file.write_all(b"theirs")).is_ok()
                });
                start.wait();
                let ours = write(&path, "ours", false).is_ok();
                let theirs = other.join().unwrap();
                assert_ne!(ours, theirs, "round {round}: a file was replaced without --force");
                theirs
            });
            assert_eq!(fs::read_to_string(&path).unwrap(), if theirs { "theirs" } else { "ours" });
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 300, "something is left");
    }

    #[test]
    fn only_the_file_that_was_judged_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let nothing = look(&path).unwrap();
        write_over(&path, b"one", None, &nothing).unwrap();
        // It is there by now.
        assert!(write_over(&path, b"two", None, &nothing).is_err());
        let judged = look(&path).unwrap();
        assert_eq!(judged.text.as_deref(), Some("one"));
        write_over(&path, b"two", Some(0o600), &judged).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let judged = look(&path).unwrap();
        // Another file with the same text, a link, the same file with other text, none: not the judged one.
        type Swap = (&'static str, fn(&Path));
        let swaps: [Swap; 4] = [
            ("two", |path| {
                fs::write(path.with_extension("other"), "two").unwrap();
                fs::rename(path.with_extension("other"), path).unwrap();
            }),
            ("secret", |path| {
                fs::write(path.with_extension("target"), "secret").unwrap();
                fs::remove_file(path).unwrap();
                std::os::unix::fs::symlink(path.with_extension("target"), path).unwrap();
            }),
            ("changed", |path| {
                fs::remove_file(path).unwrap();
                fs::write(path, "changed").unwrap();
            }),
            ("", |path| fs::remove_file(path).unwrap()),
        ];
        for (text, swap) in swaps {
            swap(&path);
            let error = write_over(&path, b"three", None, &judged).unwrap_err();
            assert!(error.message.contains("changed while"), "{}", error.message);
            assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text);
        }
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["file.target"], "something is left");
    }

    #[test]
    fn a_file_that_is_swapped_all_the_time_is_never_lost() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&path, "ours").unwrap();
        let mut texts = std::thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                let mut out = Vec::new();
                for number in 0..300 {
                    let _ = fs::remove_file(&other);
                    fs::write(&other, format!("theirs {number}")).unwrap();
                    renameat_with(CWD, &other, CWD, &path, RenameFlags::EXCHANGE).unwrap();
                    out.push(fs::read_to_string(&other).unwrap());
                }
                out
            });
            while !swapping.is_finished() {
                if let Ok(judged) = look(&path)
                    && judged.text.as_deref() == Some("ours")
                {
                    let _ = write_over(&path, b"ours", None, &judged);
                }
            }
            swapping.join().unwrap()
        });
        let left = fs::read_dir(dir.path()).unwrap();
        texts.extend(left.map(|one| fs::read_to_string(one.unwrap().path()).unwrap()));
        let lost: Vec<_> =
            (0..300).map(|n| format!("theirs {n}")).filter(|text| !texts.contains(text)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}
