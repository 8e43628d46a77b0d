//! What the user gave envdoc when it was started: the command line, and variables that are options and
//! secrets, no facts.
#![expect(clippy::disallowed_methods, reason = "the one place that reads the user's variables")]

use std::ffi::OsString;
use std::path::PathBuf;

/// The value, if it is set and UTF-8.
pub fn text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The value as a path, if it is set; it may be empty.
pub fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The words of the command line, the program first.
pub fn command_line() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}
