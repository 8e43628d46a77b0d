//! What a release requires on a Python and a processor.

use pep440_rs::VersionSpecifiers;

use super::releases::Release;
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
    fn within(self, row: &Elsewhere) -> bool {
        row.covers(Some(self.python), Some(self.architecture)) == Some(true)
    }
}

impl Release {
    /// What it requires of a package, if anything.
    pub fn requires(&self, package: &str, markers: Markers) -> Option<&VersionSpecifiers> {
        let differing =
            self.elsewhere.iter().find(|one| markers.within(one.row) && one.row.mentions(package));
        versions_of(differing.map_or(&self.requires, |one| &one.requires), package)
    }

    /// What it requires of a package on every Python; `None`: nothing, or it depends on the Python.
    pub fn requires_on_every_python(&self, package: &str, architecture: &str) -> Option<&VersionSpecifiers> {
        if self.depends_on_python(package, architecture) {
            return None;
        }
        let of_architecture = |one: &&Differing| {
            one.row.mentions(package) && one.row.covers(None, Some(architecture)) == Some(true)
        };
        let differing = self.elsewhere.iter().find(of_architecture);
        versions_of(differing.map_or(&self.requires, |one| &one.requires), package)
    }

    /// Whether what it requires of a package depends on the Python.
    pub fn depends_on_python(&self, package: &str, architecture: &str) -> bool {
        let mut mentions = self.elsewhere.iter().filter(|one| one.row.mentions(package));
        mentions.any(|one| one.row.covers(None, Some(architecture)).is_none())
    }

    /// Everything that it requires: package and versions.
    pub fn required(&self, markers: Markers) -> Vec<(&'static str, &VersionSpecifiers)> {
        let here: Vec<&Differing> = self.elsewhere.iter().filter(|one| markers.within(one.row)).collect();
        let same = |name: &str| here.iter().all(|one| !one.row.mentions(name));
        let own = self.requires.iter().filter(|(name, _)| same(name));
        let differing = here.iter().flat_map(|one| &one.requires);
        own.chain(differing).map(|(name, versions)| (*name, versions)).collect()
    }
}

fn versions_of<'r>(
    requires: &'r [(&'static str, VersionSpecifiers)],
    package: &str,
) -> Option<&'r VersionSpecifiers> {
    requires.iter().find(|(name, _)| *name == package).map(|(_, versions)| versions)
}
