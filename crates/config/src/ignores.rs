//! `ignore`: findings that somebody has decided to live with, why, and until when.

use std::path::Path;

use globset::GlobMatcher;
use host::file;
use jiff::civil::Date;

use crate::origin::Origin;

/// An entry of `ignore`.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// The check, the lint rule, or a group of them.
    pub id: String,
    /// Why, as the file says.
    pub reason: Option<String>,
    /// The last day on which it counts.
    pub until: Option<Date>,
    /// Of lint rules: only in files with such names below the settings file's directory; empty for all files.
    pub files: Vec<GlobMatcher>,
    /// Where it is written.
    pub origin: Origin,
    /// Whether its file is trusted, or needs no trust.
    pub trusted: bool,
}

impl Ignore {
    /// Whether it counts on this day.
    pub fn is_current(&self, today: Date) -> bool {
        self.until.is_none_or(|until| today <= until)
    }

    /// Whether it is for this file: one named as the command line or a directory names it.
    pub fn covers(&self, file: &Path) -> bool {
        if self.files.is_empty() {
            return true;
        }
        let folder = self.origin.file.parent().unwrap_or(Path::new("/"));
        let real = |path: &Path| file::canonical(path).or_else(|_| std::path::absolute(path));
        let (Ok(file), Ok(folder)) = (real(file), real(folder)) else { return false };
        file.strip_prefix(folder).is_ok_and(|inner| self.files.iter().any(|glob| glob.is_match(inner)))
    }
}

/// The entries of all files.
#[derive(Debug, Clone, Default)]
pub struct Ignores(pub Vec<Ignore>);

impl Ignores {
    /// Those that count on this day and are for all files.
    pub fn everywhere(&self, today: Date) -> impl Iterator<Item = &Ignore> {
        self.0.iter().filter(move |ignore| ignore.is_current(today) && ignore.files.is_empty())
    }

    /// Those that count on this day and are for some files only.
    pub fn in_files(&self, today: Date) -> impl Iterator<Item = &Ignore> {
        self.0.iter().filter(move |ignore| ignore.is_current(today) && !ignore.files.is_empty())
    }

    /// Those whose time is over.
    pub fn expired(&self, today: Date) -> impl Iterator<Item = &Ignore> {
        self.0.iter().filter(move |ignore| !ignore.is_current(today))
    }
}
