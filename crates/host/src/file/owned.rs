//! Who may change a file: whoever may write to it, or to a directory above it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory has the sticky bit: only its owner and that of an entry may rename or remove the entry.
const STICKY: u32 = 0o1000;
const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// How users other than root and this one can put another text into a file: through the file itself, or
/// through a directory above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exposure {
    /// One of them owns it.
    Owned(PathBuf),
    /// They can write to it.
    Writable(PathBuf),
}

/// The exposure nearest to the file (links followed); `None` where there is none.
pub fn writable_by_others(path: &Path) -> io::Result<Option<Exposure>> {
    let own = rustix::process::geteuid().as_raw();
    let whole = super::canonical(path)?;
    for (depth, part) in whole.ancestors().enumerate() {
        let about = part.metadata()?;
        if is_foreign(&about, own) {
            return Ok(Some(Exposure::Owned(part.to_owned())));
        }
        if is_open(&about, depth > 0) {
            return Ok(Some(Exposure::Writable(part.to_owned())));
        }
    }
    Ok(None)
}

fn is_foreign(about: &Metadata, own: u32) -> bool {
    about.uid() != 0 && about.uid() != own
}

fn is_open(about: &Metadata, directory: bool) -> bool {
    let mode = about.mode();
    if directory && mode & STICKY != 0 {
        return false;
    }
    // Where each user has a group of the same number, with nobody else in it, files are 0664 as a rule.
    let private_group = about.gid() == about.uid();
    mode & WRITABLE_BY_OTHERS != 0 || (mode & WRITABLE_BY_GROUP != 0 && !private_group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
    fn a_file_is_open_where_it_or_a_directory_above_is() {
        // Below a directory that only its owner can enter, which itself is in one with the sticky bit.
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().canonicalize().unwrap().join("below");
        fs::create_dir(&below).unwrap();
        let file = below.join("envdoc.toml");
        fs::write(&file, "").unwrap();
        let with = |path: &Path, mode: u32| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            writable_by_others(&file).unwrap()
        };
        fs::set_permissions(&below, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(with(&file, 0o644), None);
        assert_eq!(with(&file, 0o646), Some(Exposure::Writable(file.clone())));
        assert_eq!(with(&file, 0o600), None);
        assert_eq!(with(&below, 0o777), Some(Exposure::Writable(below.clone())));
        assert_eq!(with(&below, 0o1777), None, "the sticky bit");
        assert!(writable_by_others(Path::new("/no/such/file")).is_err());
        // Whoever owns a file can change its mode. Only root can give one away.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(1), None).unwrap();
            assert_eq!(with(&file, 0o600), Some(Exposure::Owned(file.clone())));
        }
    }
}
