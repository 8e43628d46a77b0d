//! The texts of a project's files, for changes of them.

use std::collections::BTreeMap;

/// Texts by the names of their files, as origins have them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// These count in place of the files' own.
    pub instead: BTreeMap<String, String>,
    /// What was read. Of a file that is not UTF-8 it is `None`: bytes of the text are not bytes of the file.
    pub read: BTreeMap<String, Option<String>>,
}

impl Texts {
    /// Adds a text that was read from these bytes.
    pub(crate) fn add(&mut self, name: String, text: &str, bytes: Option<&[u8]>) {
        let plain = bytes == Some(text.as_bytes());
        self.read.insert(name, plain.then(|| text.to_owned()));
    }
}
