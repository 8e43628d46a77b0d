//! What holds for ranges of a package's releases and is in none of their rows.

use serde::{Deserialize, Serialize};

use super::file;
use crate::Sources;

/// Releases that do not go together with another package although no requirement says so.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Incompatible {
    /// The releases of this package, as a specifier.
    pub releases: String,
    /// The other package.
    pub with: String,
    /// Its releases, as a specifier.
    pub versions: String,
    /// What happens, or what says that they do not go together.
    pub effect: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

/// What a package needs CUDA for, in all of its releases.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cuda {
    /// Whether it works without.
    #[serde(rename = "use")]
    pub use_of: CudaUse,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// Whether a package works without CUDA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CudaUse {
    Required,
    /// It uses CUDA; whether and how it works without is not recorded.
    Used,
}

/// What the compiled code in the wheels of some releases needs.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    /// The releases of this package, as a specifier with an upper bound: later ones were not read.
    pub releases: String,
    /// The major version of the CUDA libraries that the wheels on PyPI load; `None`: not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<u32>,
    /// The lowest compute capability that the package supports (`8.0`); `None`: not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability_min: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

/// A requirement on a package of the catalog that comes from a package that is not in it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Indirect {
    /// The releases of this package, as a specifier.
    pub releases: String,
    /// The package of the catalog: `numpy`.
    pub package: String,
    /// Its releases, as a specifier.
    pub versions: String,
    /// The requirement that leads there: `opencv-python-headless >=4.13.0`.
    pub through: String,
    /// The Pythons (`3.12`) on which it does; `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pythons: Option<Vec<String>>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

/// A requirement, direct or through others, on a package that is not in the catalog and has no wheel for some
/// Pythons or processors: what requires it is not installed from wheels there.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutWheel {
    /// The releases of this package, as a specifier with an upper bound: later ones were not read.
    pub releases: String,
    /// The requirement of this package: `outlines <0.1`.
    pub requires: String,
    /// What has no wheel, if it is not the required package itself: `pyairports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The Pythons without a wheel (`3.13`); `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pythons: Option<Vec<String>>,
    /// The processor without a wheel (`aarch64`); `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

file::rows!(Cuda, Incompatible, Compiled, Indirect, WithoutWheel);

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use pep440_rs::{Version, VersionSpecifiers};

    use crate::packages::{Package, names};
    use crate::testing::catalog;

    /// The releases of a package that a specifier names.
    fn concerned(package: &Package, releases: &str) -> usize {
        let releases = VersionSpecifiers::from_str(releases).unwrap();
        let all = package.rows.iter().flat_map(|row| row.releases.keys());
        all.filter(|text| releases.contains(&Version::from_str(text).unwrap())).count()
    }

    #[test]
    fn compiled_code_is_described_once_for_a_release() {
        for package in names().filter_map(|name| catalog().package(name)) {
            for row in &package.compiled {
                let label = format!("{} {}", package.name, row.releases);
                assert!(concerned(package, &row.releases) > 0 && row.source.to_string().len() > 6, "{label}");
                assert!(row.releases.contains(['<', '=']), "{label}: no upper bound");
                let capability = row.compute_capability_min.as_deref();
                assert!(row.cuda.is_some() || capability.is_some(), "{label}: says nothing");
                assert!(
                    capability.is_none_or(|text| crate::version::minor(text).is_some()),
                    "{label}: {capability:?}"
                );
            }
            for text in package.rows.iter().flat_map(|row| row.releases.keys()) {
                let version = Version::from_str(text).unwrap();
                let of = |row: &&crate::packages::Compiled| {
                    let releases = VersionSpecifiers::from_str(&row.releases).unwrap();
                    row.cuda.is_some() && releases.contains(&version)
                };
                assert!(package.compiled.iter().filter(of).count() < 2, "{} {text}", package.name);
            }
        }
    }

    #[test]
    fn indirect_requirements_are_on_packages_of_the_catalog() {
        for package in names().filter_map(|name| catalog().package(name)) {
            for row in &package.indirect {
                assert!(concerned(package, &row.releases) > 0, "{} {}", package.name, row.releases);
                assert!(names().any(|name| name == row.package), "{}", row.package);
                VersionSpecifiers::from_str(&row.versions).unwrap();
                assert!(row.through.len() > 3 && row.source.to_string().len() > 6, "{row:?}");
            }
        }
    }

    #[test]
    fn what_has_no_wheel_is_no_package_of_the_catalog() {
        for package in names().filter_map(|name| catalog().package(name)) {
            for row in &package.without_wheels {
                let label = format!("{} {}", package.name, row.releases);
                assert!(concerned(package, &row.releases) > 0, "{label}");
                assert!(row.releases.contains(['<', '=']), "{label}: no upper bound");
                let lacking = row.lacking.as_ref().unwrap_or(&row.requires);
                let name = lacking.split(['<', '=', '>', '~', ' ']).next().unwrap();
                assert!(!name.is_empty() && names().all(|known| known != name), "{label}: {name}");
                assert!(row.pythons.as_ref().is_none_or(|list| !list.is_empty()), "{label}");
                assert!(row.source.to_string().len() > 6, "{label}");
            }
        }
    }
}
