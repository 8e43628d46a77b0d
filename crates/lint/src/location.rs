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
pub(crate) struct Location {
    /// The other file.
    pub file: Option<Rc<OtherFile>>,
    /// The line, from 1.
    pub line: usize,
    /// What is there, where it has a name: a variable, a package, the path of a key.
    pub name: Option<Rc<str>>,
}

impl Location {
    /// A line of the file that is judged, or of another one.
    pub(crate) fn new(file: Option<Rc<OtherFile>>, line: usize) -> Location {
        Location { file, line, name: None }
    }

    /// The same place, by the name of what is there.
    pub(crate) fn named(self, name: &str) -> Location {
        Location { name: Some(name.into()), ..self }
    }
}

impl From<usize> for Location {
    fn from(line: usize) -> Location {
        Location::new(None, line)
    }
}
