//! Which settings files may run commands and redirect builds: those that the user has trusted, as they were
//! then.
//!
//! One file for each trusted one, named after the SHA-256 of its path, in a directory that only the user can
//! write to: two runs at the same time do not lose each other's entry.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use diagnostic::error::{Error, Kind};
use diagnostic::{shell, visible};
use host::file::{self, Exposure};
use host::link;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The largest entry, in bytes.
const ENTRY_LIMIT_BYTES: u64 = 64 << 10;
/// The most links that are followed one after the other, as the kernel does.
const LINKS_MAX: usize = 40;

/// Why the guarded settings of a file do not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {why}", visible::path(.file))]
pub struct Untrusted {
    /// The file, links followed.
    pub file: PathBuf,
    /// The same as it was found, perhaps through a link: its name says where in the file settings are.
    pub found: PathBuf,
    pub why: Distrust,
}

/// Why a file is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Nobody has trusted it.
    #[error("is not trusted")]
    Never,
    /// It was trusted with another content.
    #[error("has changed since it was trusted")]
    Changed,
    /// A file of the user or the machine, which needs no trust otherwise.
    #[error("can be modified by other users: they can write to {}", visible::path(.0))]
    Writable(PathBuf),
    /// The same, where the file or a directory above it is not the user's.
    #[error("can be modified by other users: {} is owned by another user", visible::path(.0))]
    Owned(PathBuf),
}

impl From<Exposure> for Distrust {
    fn from(exposure: Exposure) -> Distrust {
        match exposure {
            Exposure::Owned(path) => Distrust::Owned(path),
            Exposure::Writable(path) => Distrust::Writable(path),
        }
    }
}

impl Untrusted {
    /// The command that trusts the file.
    pub fn command(&self) -> String {
        format!("envdoc trust {}", shell::word(&self.found.to_string_lossy()))
    }
}

impl From<Untrusted> for Error {
    fn from(untrusted: Untrusted) -> Error {
        let command = untrusted.command();
        Error::new(Kind::Usage, untrusted.to_string())
            .hint(format!("read the file, then run `{command}`; --no-config leaves all settings files out"))
    }
}

/// What is kept of a trusted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Absolute path, links followed; for people, because it may not be UTF-8.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// The day on which it was trusted: `2027-01-31`.
    pub since: String,
}

/// The trusted files of the user.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    directory: Option<PathBuf>,
}

impl TrustStore {
    /// In the user's state directory; without one nothing is trusted.
    pub fn new(state: Option<&Path>) -> TrustStore {
        TrustStore { directory: state.map(|state| state.join("envdoc/trust")) }
    }

    /// Whether a file with this content was trusted.
    pub(crate) fn judge(&self, path: &Path, text: &str) -> Result<(), Distrust> {
        let entry = self.place(path).and_then(|place| read(&place)).ok_or(Distrust::Never)?;
        if entry.sha256 == sha256(text.as_bytes()) { Ok(()) } else { Err(Distrust::Changed) }
    }

    /// The same for a file of the user or the machine, which needs trust only where others can change it.
    pub(crate) fn judge_own(&self, path: &Path, text: &str) -> Result<(), Distrust> {
        match file::writable_by_others(path) {
            Ok(None) => Ok(()),
            Ok(Some(open)) => self.judge(path, text).map_err(|_| open.into()),
            Err(_) => self.judge(path, text),
        }
    }

    /// Trusts a file with this content from now on. `path`: absolute, links followed, as it was read.
    ///
    /// # Errors
    /// No state directory, one that cannot be written, or one that others can change.
    pub fn add(&self, path: &Path, text: &str, since: String) -> Result<(), Error> {
        let place = self.place(path).ok_or_else(no_directory)?;
        if let Some(parent) = place.parent() {
            file::private_directory(parent)?;
            if let Ok(Some(open)) = file::writable_by_others(parent) {
                let why = match &open {
                    Exposure::Owned(path) => format!("{} is owned by another user", visible::path(path)),
                    Exposure::Writable(path) => format!("other users can write to {}", visible::path(path)),
                };
                return Err(Error::new(Kind::File, format!("cannot store trust: {why}"))
                    .hint("set XDG_STATE_HOME to a directory that only you can write to"));
            }
        }
        let file = path.to_string_lossy().into_owned();
        let entry = Entry { file, sha256: sha256(text.as_bytes()), since };
        file::write_private(&place, &diagnostic::render::json::text(&entry)?, true)
    }

    /// No longer trusts a file: its path, as it was trusted; `None` where it was not trusted.
    pub fn remove(&self, path: &Path) -> Result<Option<PathBuf>, Error> {
        // By the second, where a directory of the path has become a link since.
        for path in [real(path), absolute(path)] {
            if let Some(place) = self.place(&path).filter(|place| file::is_file(place)) {
                return file::remove_file(&place).map(|()| Some(path));
            }
        }
        Ok(None)
    }

    /// The trusted files, by path.
    pub fn all(&self) -> Vec<Entry> {
        let places = self.directory.iter().flat_map(|directory| file::entries(directory));
        let mut all: Vec<Entry> = places.filter_map(|place| read(&place)).collect();
        all.sort_by(|one, other| one.file.cmp(&other.file));
        all
    }

    /// Where the entry of a path is: of this path, not of a file that a link leads to by now.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(sha256(path.as_os_str().as_bytes())))
    }
}

impl Entry {
    /// Whether the file still has the content that was trusted; `None` where it cannot be read.
    pub fn is_current(&self) -> Option<bool> {
        let text = file::text_up_to(Path::new(&self.file), crate::find::LIMIT_BYTES).ok()?;
        Some(sha256(text.as_bytes()) == self.sha256)
    }
}

/// An entry that nobody else can have written. envdoc creates it, and its directory, for the user alone, so
/// not even a private group may write there.
fn read(place: &Path) -> Option<Entry> {
    let private = |path: &Path| file::mode(path).is_some_and(|mode| mode & 0o022 == 0);
    let private = private(place) && place.parent().is_some_and(private);
    if !private || file::writable_by_others(place).ok()?.is_some() {
        return None;
    }
    serde_json::from_str(&file::text_up_to(place, ENTRY_LIMIT_BYTES).ok()?).ok()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The path with links followed. A file that is gone can still be revoked by a path that it had, and through
/// a link to it: what is there is resolved, and the rest is taken as it is written.
fn real(path: &Path) -> PathBuf {
    let mut path = absolute(path);
    for _ in 0..LINKS_MAX {
        if let Ok(real) = file::canonical(&path) {
            return real;
        }
        let Some(target) = link::target(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    let there = path.ancestors().skip(1).find_map(|above| Some((above, file::canonical(above).ok()?)));
    let Some((above, mut real)) = there else { return path };
    for part in path.strip_prefix(above).unwrap_or(&path).components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}

fn no_directory() -> Error {
    Error::new(Kind::Usage, "no state directory: neither XDG_STATE_HOME nor HOME is an absolute path")
        .hint("set one of them, then trust the file again")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files")]

    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn trust_is_of_one_path_with_one_content() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore::new(Some(&folder.path().join("state")));
        let (file, link) = (folder.path().join("envdoc.toml"), folder.path().join("link.toml"));
        fs::write(&file, "a").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(store.judge(&file, "a"), Err(Distrust::Never));
        store.add(&file, "a", "2027-01-31".into()).unwrap();
        assert_eq!(store.judge(&file, "a"), Ok(()));
        assert_eq!(
            store.judge(&link, "a"),
            Err(Distrust::Never),
            "a path that became a link to it meanwhile"
        );
        assert_eq!(store.judge(&file, "b"), Err(Distrust::Changed));
        fs::write(folder.path().join("copy.toml"), "a").unwrap();
        assert_eq!(store.judge(&folder.path().join("copy.toml"), "a"), Err(Distrust::Never));
        let all = store.all();
        assert_eq!((all.len(), all[0].since.as_str(), all[0].is_current()), (1, "2027-01-31", Some(true)));
        fs::write(&file, "b").unwrap();
        assert_eq!(all[0].is_current(), Some(false));
        fs::remove_file(&file).unwrap();
        assert_eq!(all[0].is_current(), None);
        assert_eq!(store.remove(&file).unwrap(), Some(file.clone()), "a file that is gone can be revoked");
        assert!(store.remove(&file).unwrap().is_none() && store.all().is_empty());
        assert_eq!(TrustStore::new(None).judge(&file, "a"), Err(Distrust::Never));
        assert!(TrustStore::new(None).add(&file, "a", String::new()).is_err());
    }

    #[test]
    fn a_file_that_is_gone_is_revoked_by_every_name_that_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let store = TrustStore::new(Some(&root.join("state")));
        for name in ["a/x", "b", "a"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let file = root.join("a/x/envdoc.toml");
        std::os::unix::fs::symlink("../a/x/envdoc.toml", root.join("b/link.toml")).unwrap();
        std::os::unix::fs::symlink("link.toml", root.join("b/second.toml")).unwrap();
        std::os::unix::fs::symlink("a", root.join("c")).unwrap();
        // The last ones without the directory, too.
        let names = ["b/../a/x/envdoc.toml", "b/link.toml", "b/second.toml", "c/x/../x/envdoc.toml"];
        for gone in ["a/x/envdoc.toml", "a/x"] {
            for name in names {
                fs::create_dir_all(root.join("a/x")).unwrap();
                fs::write(&file, "a").unwrap();
                store.add(&file, "a", String::new()).unwrap();
                match gone.ends_with("toml") {
                    true => fs::remove_file(root.join(gone)).unwrap(),
                    false => fs::remove_dir_all(root.join(gone)).unwrap(),
                }
                assert_eq!(store.remove(&root.join(name)).unwrap(), Some(file.clone()), "{gone}: {name}");
                assert!(store.all().is_empty());
            }
        }
    }

    #[test]
    fn an_entry_that_others_can_write_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore::new(Some(folder.path()));
        let file = folder.path().join("envdoc.toml");
        fs::write(&file, "a").unwrap();
        store.add(&file, "a", String::new()).unwrap();
        let place = store.place(&file).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(place.parent().unwrap())), (0o600, 0o700));
        let with = |path: &Path, mode: u32, private: u32| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let judged = store.judge(&file, "a");
            fs::set_permissions(path, Permissions::from_mode(private)).unwrap();
            judged
        };
        assert_eq!(with(&place, 0o600, 0o600), Ok(()));
        assert_eq!(with(&place, 0o606, 0o600), Err(Distrust::Never));
        assert_eq!(with(&place, 0o660, 0o600), Err(Distrust::Never), "a private group, too");
        assert_eq!(with(place.parent().unwrap(), 0o770, 0o700), Err(Distrust::Never));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = store.add(&file, "a", String::new()).unwrap_err();
        assert!(error.message.starts_with("cannot store trust: other users can write to /"), "{error}");
    }

    #[test]
    fn files_of_the_user_need_trust_where_others_can_change_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore::new(Some(&folder.path().join("state")));
        let file = folder.path().join("envdoc.toml");
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(store.judge_own(&file, "a"), Ok(()));
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(store.judge_own(&file, "a"), Err(Distrust::Writable(_))));
        store.add(&file, "a", String::new()).unwrap();
        assert_eq!(store.judge_own(&file, "a"), Ok(()));
    }

    #[test]
    fn a_foreign_file_is_not_called_writable() {
        let file = PathBuf::from("/srv/envdoc.toml");
        for (exposure, words) in [
            (Exposure::Owned(file.clone()), "/srv/envdoc.toml is owned by another user"),
            (Exposure::Writable(file), "they can write to /srv/envdoc.toml"),
        ] {
            let message = Distrust::from(exposure).to_string();
            assert_eq!(message, format!("can be modified by other users: {words}"));
        }
    }
}
