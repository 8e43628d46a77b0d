//! One digest of what is below a path: the same on two machines when names, kinds, sizes, modes and contents
//! are.
#![expect(clippy::disallowed_methods, reason = "the worker reads the files that it is asked about")]

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::{Digest, ENTRIES_MAX, Failure, tcp};

/// Read at once, in bytes.
const READ_BLOCK_BYTES: usize = 1 << 18;
/// Limit of unreadable paths that are reported.
const UNREADABLE_MAX: usize = 20;

/// Owners and times are left out: they differ between machines that have the same code.
pub(super) async fn digest(path: String, exclude: Vec<String>) -> Result<Digest, Failure> {
    let done = tokio::task::spawn_blocking(move || {
        let mut sum = Sum { exclude, digest: empty() };
        // The path itself may be a link to what is meant.
        let path = fs::canonicalize(&path)?;
        let entries = if path.is_dir() { sum.names(&path)?.len() } else { 0 };
        let sha256 = sum.of(&path, entries <= ENTRIES_MAX);
        sum.digest.sha256 = hex(&sha256);
        Ok::<Digest, std::io::Error>(sum.digest)
    });
    match done.await {
        Ok(done) => done.map_err(|error| tcp::failure(&error)),
        Err(error) => Err(tcp::failure(&std::io::Error::other(error))),
    }
}

fn empty() -> Digest {
    Digest { sha256: String::new(), files: 0, bytes: 0, entries: Default::default(), unreadable: Vec::new() }
}

struct Sum {
    exclude: Vec<String>,
    digest: Digest,
}

impl Sum {
    /// The digest of one entry, whatever it is. `keep_entries`: keep the digests of what is in it, by name.
    fn of(&mut self, path: &Path, keep_entries: bool) -> [u8; 32] {
        match self.entry(path, keep_entries) {
            Ok(sum) => sum,
            Err(error) => {
                if self.digest.unreadable.len() < UNREADABLE_MAX {
                    self.digest.unreadable.push(format!("{}: {error}", path.display()));
                }
                [0; 32]
            }
        }
    }

    fn entry(&mut self, path: &Path, keep_entries: bool) -> std::io::Result<[u8; 32]> {
        let facts = fs::symlink_metadata(path)?;
        let mode = (facts.permissions().mode() & 0o7777).to_be_bytes();
        let mut sum = Sha256::new();
        if facts.is_dir() {
            sum.update(b"directory ");
            sum.update(mode);
            for name in self.names(path)? {
                let inner = self.of(&path.join(&name), false);
                sum.update((name.as_bytes().len() as u64).to_be_bytes());
                sum.update(name.as_bytes());
                sum.update(inner);
                if keep_entries {
                    self.digest.entries.insert(name.to_string_lossy().into_owned(), hex(&inner));
                }
            }
        } else if facts.is_symlink() {
            sum.update(b"link ");
            sum.update(fs::read_link(path)?.as_os_str().as_bytes());
        } else if facts.is_file() {
            sum.update(b"file ");
            sum.update(mode);
            let mut file = fs::File::open(path)?;
            let mut block = vec![0; READ_BLOCK_BYTES];
            loop {
                let count = file.read(&mut block)?;
                if count == 0 {
                    break;
                }
                sum.update(&block[..count]);
                self.digest.bytes += count as u64;
            }
            self.digest.files += 1;
        } else {
            // A socket, a pipe, a device: that it is there, and nothing more.
            sum.update(b"other ");
            sum.update(mode);
        }
        Ok(sum.finalize().into())
    }

    fn names(&self, directory: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            let name = entry?.file_name();
            if !self.exclude.iter().any(|left_out| name == left_out.as_str()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Bytes as digests are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of(path: &Path) -> Digest {
        digest(path.to_string_lossy().into_owned(), vec![".git".into()]).await.unwrap()
    }

    #[tokio::test]
    async fn names_modes_and_contents_count_and_nothing_else() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &two] {
            fs::create_dir(folder.path().join("src")).unwrap();
            fs::write(folder.path().join("src/train.py"), "print()\n").unwrap();
            fs::write(folder.path().join("data"), "1").unwrap();
            std::os::unix::fs::symlink("src", folder.path().join("link")).unwrap();
        }
        fs::create_dir(two.path().join(".git")).unwrap();
        let (first, same) = (of(one.path()).await, of(two.path()).await);
        assert_eq!(first, same);
        assert_eq!((first.files, first.bytes, first.entries.len()), (2, 9, 3));

        fs::write(two.path().join("data"), "2").unwrap();
        let other = of(two.path()).await;
        assert_ne!(first.sha256, other.sha256);
        assert_ne!(first.entries["data"], other.entries["data"]);
        assert_eq!(first.entries["src"], other.entries["src"]);
        fs::set_permissions(two.path().join("src/train.py"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(of(two.path()).await.entries["src"], first.entries["src"]);
        assert!(digest("/no/such/path".into(), Vec::new()).await.is_err());
    }
}
