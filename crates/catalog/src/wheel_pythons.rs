//! The Pythons that packages on PyPI have wheels for.

use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Some releases of a package without a source distribution, and the Pythons of their wheels.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelPythons {
    /// Normalised: `tensorflow`.
    pub package: String,
    /// The first release for which it holds.
    pub from: String,
    /// The first release for which it no longer does.
    pub below: String,
    /// `3.11`, in order.
    pub pythons: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

file::table!(WheelPythons, "wheel_pythons.yaml");

impl Table<WheelPythons> {
    /// The row for a release of a package (`tensorflow`, 2.15.1).
    pub fn of(&self, package: &str, version: &Version) -> Option<&WheelPythons> {
        let parse = |text: &str| Version::from_str(text).ok();
        self.all().iter().find(|row| {
            let above = parse(&row.from).is_some_and(|from| from <= *version);
            let below = parse(&row.below).is_some_and(|end| *version < end);
            row.package == package && above && below
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_their_pythons() {
        let of = |version: &str| {
            let version = Version::from_str(version).unwrap();
            let rows = crate::testing::catalog().wheel_pythons();
            rows.of("tensorflow", &version).map(|row| row.pythons.join(" "))
        };
        assert_eq!(of("2.15.1").as_deref(), Some("3.9 3.10 3.11"));
        assert_eq!(of("2.16.0").as_deref(), Some("3.9 3.10 3.11 3.12"));
        assert_eq!(of("2.7.0"), None);
    }
}
