//! A library file, and through which list of directories it was found.

use std::fmt;

use crate::Fact;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Full path, links followed.
    pub path: String,
    /// Version in its file name, `2.21.5`; absent when the name has none.
    pub version: Fact<String>,
    /// Which directory list it was found through.
    pub found_in: FoundIn,
    /// The directory in that list, as it is written there.
    pub directory: String,
}

impl Library {
    /// Whether the loader finds it by its name alone.
    pub fn is_reachable(&self) -> bool {
        self.found_in != FoundIn::Toolkit
    }
}

/// A list of directories in which libraries are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundIn {
    /// `LD_LIBRARY_PATH`.
    LdLibraryPath,
    /// `/etc/ld.so.conf` and what it includes.
    LdSoConf,
    /// The directories that the loader itself knows.
    Default,
    /// A toolkit's directory, which no list of the loader names.
    Toolkit,
}

impl fmt::Display for FoundIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FoundIn::LdLibraryPath => "LD_LIBRARY_PATH",
            FoundIn::LdSoConf => "ld.so.conf",
            FoundIn::Default => "default",
            FoundIn::Toolkit => "cuda",
        })
    }
}
