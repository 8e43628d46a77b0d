//! Files: written atomically, existing ones only replaced with `--force`.
#![expect(clippy::disallowed_methods, reason = "the one place that reads and writes files of the user")]

mod below;
mod holes;
mod input;
mod opened;
mod owned;
mod put;

use std::fs;
pub use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use diagnostic::units::memory;

pub use below::{Below, below};
pub use holes::{WithoutHoles, without_holes};
pub use input::standard_input;
pub(crate) use input::standard_input_bytes;
pub use opened::{open_ending, standard_ending};
pub use owned::{Exposure, writable_by_others};
pub use put::{Existing, look};
use put::{Target, put};

/// Writes `text` atomically. An existing file stays unless `force` is set, also one that appears meanwhile.
pub fn write(path: &Path, text: &str, force: bool) -> Result<(), Error> {
    match force {
        true => put(path, text.as_bytes(), None, &Target::Whatever),
        false => put(path, text.as_bytes(), None, &Target::Nothing),
    }
}

/// Writes bytes atomically in place of what is there.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    put(path, bytes, None, &Target::Whatever)
}

/// Fails where no file can be written: the path is a directory, or its directory does not exist or does not
/// accept a new file (tried).
pub fn writable(path: &Path) -> Result<(), Error> {
    let refused = |why: &dyn std::fmt::Display| {
        Error::new(Kind::File, format!("cannot write {}: {why}", path.display()))
    };
    if path.is_dir() {
        return Err(refused(&"it is a directory"));
    }
    put::refuse_special(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(refused(&format!("there is no directory {}", parent.display())));
    }
    put::try_new(path).map_err(|error| refused(&error))
}

/// Fails where [`write`] would: the path is not [`writable`], or something is there and `force` is not given.
pub fn free(path: &Path, force: bool) -> Result<(), Error> {
    writable(path)?;
    if force || path.symlink_metadata().is_err() { Ok(()) } else { Err(put::exists(path)) }
}

/// [`write`], for a file that only its owner may read.
pub fn write_private(path: &Path, text: &str, force: bool) -> Result<(), Error> {
    match force {
        true => put(path, text.as_bytes(), Some(0o600), &Target::Whatever),
        false => put(path, text.as_bytes(), Some(0o600), &Target::Nothing),
    }
}

/// Writes bytes to `path` with a mode that the file has from its first moment on, in place of what is there.
pub fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    put(path, bytes, Some(mode), &Target::Whatever)
}

/// [`write_with_mode`] for a file that must be new: an error where there is one.
pub fn create_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    put(path, bytes, Some(mode), &Target::Nothing)
}

/// [`write_with_mode`] in place of the file that was judged; an error if it changed. `mode` is optional.
pub fn write_over(path: &Path, bytes: &[u8], mode: Option<u32>, judged: &Existing) -> Result<(), Error> {
    put(path, bytes, mode, &judged.entry.map_or(Target::Nothing, Target::Judged))
}

/// A directory, made with those above it where it is not there.
pub fn directory(path: &Path) -> Result<(), Error> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    // Nobody else may write there, whatever the umask: private keys may lie below.
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .map_err(|error| Error::new(Kind::File, format!("cannot create {}: {error}", path.display())))
}

/// A directory for its owner alone, made where it is not there.
pub fn private_directory(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .map_err(|error| {
            Error::new(Kind::File, format!("cannot create {} with mode 0700: {error}", path.display()))
        })
}

/// The mode of a file, without its kind; `None` where there is none.
pub fn mode(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|metadata| metadata.permissions().mode() & 0o7777)
}

/// The text of a file that holds a secret, as [`read`]; an error where others than its owner may read it. The
/// mode is that of the file that is read, whatever the name leads to later.
pub fn read_private(path: &Path) -> Result<Option<String>, Error> {
    let unreadable = |error: io::Error| unreadable(path, &error);
    let file = match opened::whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(unreadable)?,
    };
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        let message =
            format!("{} has mode {mode:04o}: the private key is readable by other users", path.display());
        return Err(Error::new(Kind::File, message).hint(format!(
            "Run `chmod 600 {}`, and replace the key if other users had access.",
            path.display()
        )));
    }
    whole(file, READ_MAX).and_then(text).map(Some).map_err(unreadable)
}

/// The error about a file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::File, format!("cannot read {}: {}", path.display(), why_unreadable(error)))
}

/// Why a file cannot be read, without the number of the system's error where the file is missing.
pub fn why_unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => NO_SUCH_FILE.to_owned(),
        _ => error.to_string(),
    }
}

const NO_SUCH_FILE: &str = "no such file";

/// The error about a file that must exist.
pub fn missing(path: &Path) -> Error {
    Error::new(Kind::File, format!("cannot read {}: {NO_SUCH_FILE}", path.display()))
}

/// The text of a file; `None` where there is none.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    match bounded(path).and_then(text) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The text of a file that is there.
pub fn text_of(path: &Path) -> io::Result<String> {
    bounded(path).and_then(text)
}

/// [`text_of`], of at most so many bytes.
pub fn text_up_to(path: &Path, limit_bytes: u64) -> io::Result<String> {
    whole(opened::whole(path)?, limit_bytes).and_then(text)
}

/// [`text_up_to`], also of UTF-16 that begins with a byte order mark.
pub fn marked_text_up_to(path: &Path, limit_bytes: u64) -> io::Result<String> {
    whole(opened::whole(path)?, limit_bytes).and_then(marked_text)
}

/// The bytes of a file that the user named.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    bounded(path).map_err(|error| unreadable(path, &error))
}

/// The most that is taken of one file, in bytes. Requests, locks, snapshots and what `lint` reads are far
/// smaller; a pipe may never end.
pub(crate) const READ_MAX: u64 = 64 << 20;

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Text in the encoding that its byte order mark says; without one, UTF-8.
fn marked_text(bytes: Vec<u8>) -> io::Result<String> {
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        // With two zero bytes behind it, it is that of UTF-32.
        Some([0xff, 0xfe]) if bytes.get(2..4) != Some([0, 0].as_slice()) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => return text(bytes),
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let letters: Result<String, _> = char::decode_utf16(units).collect();
    letters.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The whole of a file, up to the limit.
pub(crate) fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    whole(opened::whole(path)?, READ_MAX)
}

fn whole(from: impl Read, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(error.kind(), "it has no end: reading it waits for more"),
        _ => error,
    })?;
    match bytes.len() as u64 > limit_bytes {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {}", memory(limit_bytes)),
        )),
        false => Ok(bytes),
    }
}

/// The last `limit` bytes of a file.
pub fn end(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that the user named, opened to be read as it grows.
pub fn open(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

/// The absolute path with links followed.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// The paths in a directory, sorted; none where it cannot be listed.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Removes a directory with everything below it; one that does not exist is no error.
pub fn remove_directory(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::new(Kind::File, format!("cannot remove {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Removes a file; one that does not exist is no error.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::new(Kind::File, format!("cannot remove {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Whether there is a file, links followed.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// The size of a file in bytes; `None` where there is no file.
pub fn size(path: &Path) -> Option<u64> {
    path.metadata().ok().filter(fs::Metadata::is_file).map(|about| about.len())
}

/// Whether there is anything at a path, links followed.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether there is a directory.
pub fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_encoding_of_a_byte_order_mark() {
        let of = |bytes: &[u8]| marked_text(bytes.to_vec()).ok();
        assert_eq!(of(b"\xff\xfea\0\n\0").as_deref(), Some("a\n"));
        assert_eq!(of(b"\xfe\xff\0a\0\n").as_deref(), Some("a\n"));
        assert_eq!(of(b"a\n").as_deref(), Some("a\n"));
        assert_eq!((of(b"\xff\xfe\x00\xd8"), of(b"\xff")), (None, None));
    }

    #[test]
    fn virtual_environments_are_named_and_not_searched() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a/env/pyvenv.cfg", "a/env/lib/makefile.py", "a/b.py", "venv/pyvenv.cfg", "c/venv/x.py"]
        {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = below(dir.path()).unwrap().unwrap();
        assert_eq!(found.files, [dir.path().join("a/b.py")]);
        assert_eq!(found.environments, [dir.path().join("a/env"), dir.path().join("venv")]);
        let named = below(&dir.path().join("a/env")).unwrap().unwrap();
        assert_eq!(named.files.len(), 2, "one that was named is searched");
    }

    #[test]
    fn refuses_files_above_the_size_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(READ_MAX + 1).unwrap();
        let error = text_of(file.path()).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 64 MiB");
        file.as_file().set_len(9 << 20).unwrap();
        assert_eq!(text_up_to(file.path(), 4 << 20).unwrap_err().to_string(), "it is larger than 4 MiB");
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.message, "cannot read /dev/zero: it is a device, not a file");
        assert_eq!(read(Path::new("/dev/null")).unwrap().as_deref(), Some(""));
    }

    #[test]
    fn files_are_read_without_their_holes() {
        use std::io::Write as _;

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one").unwrap();
        file.seek(SeekFrom::Start(200 << 30)).unwrap();
        file.write_all(b"two").unwrap();
        file.set_len(400 << 30).unwrap();
        file.rewind().unwrap();
        let (mut file, skipped) = without_holes(file);
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        // A file system writes whole blocks: there are NUL bytes around what was written.
        text.retain(|byte| *byte != 0);
        assert_eq!(text, b"onetwo");
        assert!(skipped.get() > 399 << 30, "{}", skipped.get());
        let (mut other, _) = without_holes(fs::File::open("/proc/self/comm").unwrap());
        let mut text = String::new();
        assert!(other.read_to_string(&mut text).unwrap() > 0);
    }

    #[test]
    fn a_directory_that_takes_no_file_is_refused_before_the_work() {
        // access(2) lets root write there.
        let error = writable(Path::new("/proc/envdoc-report")).unwrap_err();
        assert!(error.message.starts_with("cannot write /proc/envdoc-report: "), "{}", error.message);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        writable(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of the attempt");
        fs::write(&path, "mine").unwrap();
        writable(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn overwrites_only_with_force_and_leaves_no_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        write(&path, "one", false).unwrap();
        let error = write(&path, "two", false).unwrap_err();
        assert!(error.message.contains("already exists") && !error.hints.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, "two", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(write(&dir.path().join("none/out.json"), "x", false).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
