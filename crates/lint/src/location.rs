//! Where in the linted file, or in a file that belongs to it, a finding is.

use std::rc::Rc;

/// A file that belongs to the one that is judged: a requirements file that a Dockerfile installs, a compose
/// file over another one.
#[derive(Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// Its path in the build context, or its name.
    pub path: String,
    /// The line of the Dockerfile that installs it.
    pub by: Option<usize>,
}

/// A place: a line of the file that is judged, or of one that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The other file.
    pub file: Option<Rc<OtherFile>>,
    /// The line, from 1.
    pub line: usize,
}

impl From<usize> for Location {
    fn from(line: usize) -> Location {
        Location { file: None, line }
    }
}
