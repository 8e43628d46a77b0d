//! A list of packages as written: a requirements file, `pyproject.toml`, the environment of conda.

use catalog::Catalog;

use crate::file::Context;
use crate::kind::Kind;

#[derive(Debug)]
pub(crate) struct PackageList {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub kind: Kind,
    pub text: String,
    /// What lies next to it: modules that it names, and directories by their names with a slash behind.
    pub context: Context,
}

impl PackageList {
    /// The first line with a text, from 1.
    pub(crate) fn line_of(&self, text: &str) -> usize {
        self.text.lines().position(|line| line.contains(text)).map_or(1, |index| index + 1)
    }
}
