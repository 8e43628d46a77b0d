//! Mirrors of PyPI and of the archives of Ubuntu and Debian, under short names.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

/// A mirror.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// What a user types: `tuna`.
    pub name: String,
    /// Whose it is, in a sentence.
    pub summary: String,
    /// Its index of Python packages.
    pub pip_index: String,
    /// Its archive of system packages: the address before `/ubuntu` or `/debian`.
    pub apt: String,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Mirror);

/// All mirrors, in the order of the alphabet.
pub fn all() -> &'static [Mirror] {
    static ROWS: OnceLock<Vec<Mirror>> = OnceLock::new();
    ROWS.get_or_init(|| file::table("mirrors.yaml", include_str!("../../../catalog/mirrors.yaml")))
}

/// The mirror with this name.
pub fn mirror(name: &str) -> Option<&'static Mirror> {
    all().iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_need_no_certificates() {
        assert!(all().is_sorted_by(|one, other| one.name < other.name));
        for row in all() {
            assert!(row.pip_index.starts_with("https://") && row.pip_index.ends_with("/simple"), "{row:?}");
            assert!(row.apt.starts_with("http://") && !row.apt.ends_with('/'), "{row:?}");
            assert!(row.summary.ends_with('.') && row.source.len() > 6 && !row.checked.is_empty(), "{row:?}");
        }
    }
}
