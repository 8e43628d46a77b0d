//! What a release requires on a Python and a processor.

use pep440_rs::VersionSpecifiers;

use catalog::elsewhere::Elsewhere;

/// Requirements that differ on some Pythons or on a processor.
#[derive(Debug, Clone)]
pub struct Differing {
    /// Where.
    pub row: &'static Elsewhere,
    /// [`Elsewhere::requires`], parsed.
    pub requires: Vec<(&'static str, VersionSpecifiers)>,
}

/// What requirements depend on besides the release: the Python (`3.12`) and the processor (`aarch64`).
#[derive(Debug, Clone, Copy)]
pub struct Markers<'m> {
    /// `3.12`.
    pub python: &'m str,
    /// `aarch64`.
    pub architecture: &'m str,
}

impl Markers<'_> {
    pub(super) fn within(self, row: &Elsewhere) -> bool {
        row.covers(Some(self.python), Some(self.architecture)) == Some(true)
    }
}
