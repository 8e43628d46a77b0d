//! Archives that ADD unpacks.

use super::instructions::Instruction;

/// What the names of tar archives end with, longest first.
pub(crate) const TAR_ENDS: &[&str] =
    &[".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".tgz", ".tbz2", ".tbz", ".txz", ".tzst"];

impl Instruction {
    /// Whether ADD unpacks a source, as far as its name says it: a tar archive of the build context, or one
    /// that it downloads with `--unpack`.
    pub(crate) fn unpacks(&self, source: &str) -> bool {
        let wanted = match self.flag("unpack") {
            Some(value) => value != "false",
            None => !source.contains("://") || self.flags.iter().any(|flag| flag == "--unpack"),
        };
        let name = source.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        self.keyword == "ADD" && wanted && TAR_ENDS.iter().any(|end| name.ends_with(end))
    }
}
