//! Newer files than the embedded ones, in a directory of the user.
//!
//! `envdoc catalog refresh` writes there; the newest file wins: by its day, then by that of its newest row. A
//! file that breaks a rule is not used. The program gives the directory to its catalog; the library alone
//! never looks for one, so that its tests know what they read.
#![expect(clippy::disallowed_methods, reason = "the cache is envdoc's own, not a fact of the machine")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::embedded;
use super::rules::{self, Broken};

/// A directory with files that are used where they are newer than the embedded ones.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    note: fn(&str),
    /// The files in it, by their names below `catalog/`: read when first asked for.
    names: OnceLock<Vec<String>>,
    /// Texts of the files that were asked for; `None` where the embedded one is used.
    texts: Mutex<BTreeMap<String, Option<Arc<str>>>>,
}

/// The most that is taken of one cached file, in bytes; the largest embedded one has a tenth of it.
const FILE_MAX: u64 = 4 << 20;

/// The format of the catalog's files. A new key is a new minor (an older envdoc refuses it), a changed one a
/// new major.
pub const FORMAT: semver::Version = semver::Version::new(2, 0, 0);

/// The file of the directory that holds the [`FORMAT`] of the others; without it, each is tried.
pub const FORMAT_FILE: &str = "format";

/// Whether this envdoc reads the files of a directory.
fn check_format(dir: &Path) -> Result<(), CacheError> {
    let path = dir.join(FORMAT_FILE);
    if !path.exists() {
        return Ok(());
    }
    let found: semver::Version = read(&path)?.trim().parse()?;
    match found.major == FORMAT.major && found <= (semver::Version { patch: u64::MAX, ..FORMAT }) {
        true => Ok(()),
        false => Err(CacheError::Format { found }),
    }
}

impl Cache {
    /// `note` gets a message for each file that cannot be used, once.
    pub fn new(dir: PathBuf, note: fn(&str)) -> Cache {
        Cache { dir, note, names: OnceLock::new(), texts: Mutex::default() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The cached text of a file where it is newer than the embedded one and keeps the rules.
    pub fn newer(&self, name: &str, embedded: &'static str) -> Option<Arc<str>> {
        if !self.names.get_or_init(|| self.readable_names()).iter().any(|known| known == name) {
            return None;
        }
        let known = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known().get(name) {
            return text.clone();
        }
        // Not under the lock: holding a file to the rules may read other files.
        let text = match self.usable(name, embedded) {
            Ok(text) => text.map(Arc::from),
            Err(why) => {
                let path = self.dir.join(name);
                (self.note)(&format!("the cached catalog file {} is not used: {why}", path.display()));
                None
            }
        };
        known().entry(name.to_owned()).or_insert(text).clone()
    }

    fn readable_names(&self) -> Vec<String> {
        match check_format(&self.dir) {
            Ok(()) => names(&self.dir),
            Err(error) => {
                (self.note)(&format!("the catalog files in {} are not used: {error}", self.dir.display()));
                Vec::new()
            }
        }
    }

    /// The cached text; `None` where the embedded one is newer. Of two of the same day the cached one was
    /// made from the other.
    fn usable(&self, name: &str, embedded: &str) -> Result<Option<String>, CacheError> {
        let text = read(&self.dir.join(name))?;
        // A file of which the rows were held against their sources later is newer, whatever a refresh has
        // added to the other.
        let days = |text: &str| Some((day_of_file(text)?.to_owned(), newest_day(text)?.to_owned()));
        let Some(cached) = days(&text) else { return Err(CacheError::NoDay) };
        if days(embedded).is_some_and(|embedded| cached < embedded) {
            return Ok(None);
        }
        let other = |name: &str| {
            let file = embedded::file_named(name)?;
            Some(self.newer(name, file.text).map_or(Cow::Borrowed(file.text), |text| text.to_string().into()))
        };
        let broken = rules::broken(name, &text, &other);
        match broken.first() {
            None => Ok(Some(text)),
            Some(first) => Err(CacheError::Rules { first: first.clone(), more: broken.len() - 1 }),
        }
    }
}

/// Why a file of the cache is not used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is a directory or a device.
    #[error("not a regular file")]
    NotAFile,
    #[error("larger than {} MiB", FILE_MAX >> 20)]
    TooLarge,
    /// Another envdoc wrote it.
    #[error("they have catalog format {found}, and this envdoc reads {FORMAT}; run `envdoc catalog refresh`")]
    Format {
        /// Of the directory.
        found: semver::Version,
    },
    /// The format is no version.
    #[error("cannot parse the catalog format: {0}")]
    FormatVersion(#[from] semver::Error),
    /// It has no `checked:` key with a date.
    #[error("it has no `checked:` date")]
    NoDay,
    /// Its rows break rules.
    #[error("{first}{}", match more { 0 => String::new(), more => format!(" (and {more} more)") })]
    Rules {
        /// The first broken rule.
        first: Broken,
        /// How many follow it.
        more: usize,
    },
}

/// Reads a file that another program may have written.
pub fn read(path: &Path) -> Result<String, CacheError> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(CacheError::NotAFile);
    }
    if metadata.len() > FILE_MAX {
        return Err(CacheError::TooLarge);
    }
    Ok(std::fs::read_to_string(path)?)
}

/// The YAML files in a directory and in its folder `packages`, as they are named below `catalog/`.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![(dir.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".yaml") {
                names.push(format!("{prefix}{name}"));
            } else if prefix.is_empty() && !name.starts_with('.') && entry.path().is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            }
        }
    }
    names.sort_unstable();
    names
}

/// The day on which the file as a whole was checked.
fn day_of_file(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("checked:")).and_then(newest_day)
}

/// The newest day on which something in the file was checked.
///
/// Rows that a refresh adds have a day of their own; that of the file stays, because the older rows were not
/// checked again.
pub fn newest_day(text: &str) -> Option<&str> {
    let days = text.match_indices("checked:").filter_map(|(at, found)| {
        let day = text[at + found.len()..].trim_start_matches([' ', '"', '\'']).get(..10)?;
        day.parse::<jiff::civil::Date>().is_ok().then_some(day)
    });
    days.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_date_is_taken_from_file_and_rows() {
        assert_eq!(newest_day("checked: 2026-11-21\nrows: []\n"), Some("2026-11-21"));
        assert_eq!(newest_day("checked: \"2026-11-21\"\nrows: []\n"), Some("2026-11-21"));
        let rows =
            "checked: 2026-11-21\nrows:\n- {a: 1, checked: 2026-12-01}\n- {a: 2, checked: 2026-11-30}\n";
        assert_eq!(newest_day(rows), Some("2026-12-01"));
        assert_eq!(newest_day("# checked: never\nrows: []\n"), None);
        assert_eq!(newest_day("checked: 2026-13-41\n"), None);
    }

    #[test]
    fn files_of_a_newer_format_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_format(dir.path()).is_ok(), "files that have no format");
        let check = |format: &str| {
            std::fs::write(dir.path().join(FORMAT_FILE), format).unwrap();
            check_format(dir.path())
        };
        assert!(check(&format!("{FORMAT}\n")).is_ok() && check("2.0.7").is_ok());
        for other in ["3.0.0", "2.1.0", "1.3.0"] {
            assert!(matches!(check(other), Err(CacheError::Format { .. })), "{other}");
        }
        assert!(matches!(check("new"), Err(CacheError::FormatVersion(_))));
    }

    #[test]
    fn cached_file_is_used_only_if_newer_and_valid() {
        let dir = tempfile::tempdir().unwrap();
        let embedded = embedded::file_named("nccl.yaml").unwrap().text;
        let used = |text: &str| {
            std::fs::write(dir.path().join("nccl.yaml"), text).unwrap();
            Cache::new(dir.path().to_owned(), |_| {}).usable("nccl.yaml", embedded)
        };
        assert_eq!(
            used(embedded).unwrap(),
            Some(embedded.to_owned()),
            "of the same day: it was made from the embedded one"
        );
        let newer = format!("{embedded}- {{version: \"99.1.1\", source: [a test], checked: 2099-01-01}}\n");
        assert_eq!(used(&newer).unwrap(), Some(newer.clone()));
        let older = newer.replace("2099-", "2001-").replace("checked: 2026-", "checked: 2001-");
        assert_eq!(used(&older).unwrap(), None, "older than the embedded one");
        let older = newer.replace("checked: 2026-", "checked: 2001-");
        assert_eq!(
            used(&older).unwrap(),
            None,
            "a new row in a file that was checked before the embedded one"
        );
        let refused = |text: &str| used(text).unwrap_err().to_string();
        assert!(refused(&newer.replace("99.1.1", "1.1.1")).contains("nccl.yaml 1.1.1: order"));
        assert!(refused(&newer.replace("source: [a test], ", "")).contains("source"));
        assert!(matches!(used("rows: ["), Err(CacheError::NoDay)));
        assert!(refused("checked: 2099-01-01\nrows: [").contains("nccl.yaml: type"));
        assert_eq!(names(dir.path()), ["nccl.yaml"]);
        assert_eq!(names(&dir.path().join("none")), [""; 0]);
    }
}
