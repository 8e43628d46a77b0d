//! Python series, and which of their releases a specifier allows.

use pep440_rs::{Version, VersionSpecifiers};

/// Major and minor number.
pub fn series(version: &Version) -> (u64, u64) {
    let numbers = version.release();
    (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(0))
}

/// A Python series of the catalog.
#[derive(Debug)]
pub struct Python {
    /// `3.12`.
    pub text: String,
    /// The same as a version.
    pub version: Version,
    first: Version,
    last: Version,
    /// The day of its end, where it is known.
    pub end_of_life: Option<String>,
}

/// A patch release that no series will reach.
const LAST: u64 = 99;

impl Python {
    /// A series by its text (`3.12`) and the same as a version.
    pub fn new(text: String, version: Version, end_of_life: Option<String>) -> Python {
        let (major, minor) = series(&version);
        let (first, last) = (Version::new([major, minor, 0]), Version::new([major, minor, LAST]));
        Python { text, version, first, last, end_of_life }
    }

    /// Whether specifiers allow any patch release of this series.
    pub fn within(&self, specifiers: &VersionSpecifiers) -> bool {
        // The first and the last one tell, but where a specifier names a patch release itself.
        if specifiers.contains(&self.last) || specifiers.contains(&self.first) {
            return true;
        }
        let (major, minor) = series(&self.version);
        let named = specifiers.iter().filter_map(|one| match one.version().release() {
            [here, there, patch, ..] if (*here, *there) == (major, minor) => Some(*patch),
            _ => None,
        });
        named
            .flat_map(|patch| [patch.saturating_sub(1), patch, patch + 1])
            .any(|patch| specifiers.contains(&Version::new([major, minor, patch])))
    }
}
