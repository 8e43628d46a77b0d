//! Releases of distributions that are no base systems, and those whose packages were moved to an archive.
//! Rows of `catalog/systems.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// A release whose packages have left the servers that the release itself names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedSystem {
    /// `CentOS 7`.
    pub name: String,
    /// What its images have in their names: a whole name with tag, or a part between separators.
    pub marks: Vec<String>,
    /// Where the packages are now: `vault.centos.org`.
    pub archive: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

impl ArchivedSystem {
    /// Whether an image has this release: `example.org/centos:7`, `example/base:1.0-centos8`.
    pub fn is_in(&self, image: &str) -> bool {
        let text = image.to_ascii_lowercase();
        let base = text.rsplit('/').next().unwrap_or(&text);
        self.marks.iter().any(|mark| match mark.contains(':') {
            true => base
                .strip_prefix(mark.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])),
            false => base.split([':', '-', '.', '_']).any(|part| part == mark),
        })
    }
}

/// A release of a distribution that is no base system of the resolver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherRelease {
    /// `Ubuntu 23.10`.
    pub name: String,
    /// `mantic`.
    pub codename: String,
    pub released: String,
    /// The day on which standard support ends.
    pub end_of_life: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(ArchivedSystem, OtherRelease);

#[cfg(test)]
mod tests {
    #[test]
    fn marks_are_whole_parts_of_a_name() {
        let systems = crate::testing::catalog().systems();
        let of = |image: &str| systems.archived(image).map(|row| row.name.as_str());
        assert_eq!(of("centos:7.9.2009"), Some("CentOS 7"));
        assert_eq!(of("example.org/a/base:1.0-centos8"), Some("CentOS 8"));
        assert_eq!(of("debian:stretch-slim"), Some("Debian 9"));
        assert_eq!(
            (of("centos:70"), of("quay.io/centos/centos:stream9"), of("debian:12")),
            (None, None, None)
        );
    }
}
