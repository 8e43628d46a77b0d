//! The NVIDIA container toolkit, and the container software around it.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use super::version::Version;
use crate::Sources;

/// The first Docker Engine with `docker run --gpus`. Source: Docker release notes 19.03.
pub const ENGINE_WITH_GPUS_FLAG: &str = "19.03.0";
/// The first Docker Engine that reads CDI specifications (behind a feature flag then). Source:
/// NVIDIA/cloud-native-docs:container-toolkit/cdi-support.md@52dcb7b8.
pub const ENGINE_WITH_CDI: &str = "25.0.0";
/// The first Docker Engine that reads CDI 0.7.0, which the toolkit writes from [`TOOLKIT_WRITES_CDI_0_7`] on.
/// Source: NVIDIA/cloud-native-docs:container-toolkit/release-notes.md@52dcb7b8.
pub const ENGINE_WITH_CDI_0_7: &str = "26.1.0";
/// The first toolkit that writes CDI specifications in version 0.7.0. Source: the same.
pub const TOOLKIT_WRITES_CDI_0_7: &str = "1.19.1";
/// The first toolkit whose default mode is CDI made at start (`jit-cdi`). Source: the same.
pub const TOOLKIT_DEFAULTS_TO_CDI: &str = "1.18.0";
/// The first toolkit that honours `swarm-resource` in that mode. Source:
/// NVIDIA/nvidia-container-toolkit:CHANGELOG.md@d34b3046.
pub const TOOLKIT_CDI_WITH_SWARM: &str = "1.19.0";

/// A release of the NVIDIA container toolkit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `1.17.8`.
    pub version: String,
    /// The day of its tag.
    pub released: Option<String>,
    /// What changed that matters here.
    #[serde(default)]
    pub notes: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A published vulnerability.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cve {
    /// `CVE-2025-23266`.
    pub id: String,
    /// `nvidia-container-toolkit`, `runc`, `docker-engine`, `docker-compose`, `docker-desktop`.
    pub component: String,
    /// The first fixed release of each series that was fixed.
    pub fixed_in: Vec<String>,
    /// The affected releases: ranges like `<1.1.12` or `>=28.2.0 <28.3.3`, several separated by `, `; `None`
    /// where only the fix is known.
    pub affected: Option<String>,
    /// What it allows.
    pub summary: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A series of Docker Engine releases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSeries {
    /// `28`, `26.1`, `20.10`.
    pub series: String,
    /// The day of its first release.
    pub released: Option<String>,
    /// The day on which support ended or ends; `None` while none is set.
    pub end_of_life: Option<String>,
    pub latest: Option<String>,
    /// The day on which it was the newest.
    pub latest_as_of: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// A package, a program or a mode of the toolkit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// `nvidia-container-toolkit-base`, `nvidia-ctk`, `jit-cdi`.
    pub name: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Release, Cve, Part, EngineSeries);

/// `catalog/toolkit.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolkit {
    checked: String,
    sources: SharedSources,
    rows: Vec<Release>,
    cves: Vec<Cve>,
    packages: Vec<Part>,
    programs: Vec<Part>,
    modes: Vec<Part>,
    engine: Vec<EngineSeries>,
}

impl Contents for Toolkit {
    const NAME: &str = "toolkit.yaml";
    const TEXT: &str = file::text!("toolkit.yaml");
}

file::sourced!(Toolkit, [rows, cves, packages, programs, modes, engine]);

impl Toolkit {
    /// All toolkit releases, oldest first.
    pub fn all(&self) -> &[Release] {
        &self.rows
    }

    /// By version: `1.17.8`.
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.all().iter().find(|row| row.version == version)
    }

    pub fn all_cves(&self) -> &[Cve] {
        &self.cves
    }

    /// The vulnerabilities of a component.
    pub fn cves(&self, component: &str) -> impl Iterator<Item = &Cve> {
        self.all_cves().iter().filter(move |cve| cve.component == component)
    }

    /// The vulnerabilities that a version is certain to have. Those of which it cannot be said are not among
    /// them (see [`Cve::exposure`]), and a version with a packager's suffix (`1.1.7-0ubuntu1`) has none that
    /// is certain: distributions fix without a new number.
    pub fn vulnerable(&self, component: &str, version: &str) -> Vec<&Cve> {
        self.cves(component).filter(|cve| cve.exposure(version) == Exposure::Vulnerable).collect()
    }

    /// Names of the packages that must have the same version.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(|row| row.name.as_str())
    }

    /// File names of the toolkit's programs.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|row| row.name.as_str())
    }

    /// The modes of the runtime, as `config.toml` has them.
    pub fn modes(&self) -> impl Iterator<Item = &str> {
        self.modes.iter().map(|row| row.name.as_str())
    }

    /// All series of Docker Engine, oldest first.
    pub fn all_engine_series(&self) -> &[EngineSeries] {
        &self.engine
    }

    /// The series of a Docker Engine version or series: `20.10`, `28.5.2`, `26.1.4`.
    pub fn engine_series(&self, version: &str) -> Option<&EngineSeries> {
        let version = Version::parse(version)?;
        self.all_engine_series().iter().find(|row| {
            Version::parse(&row.series).is_some_and(|series| {
                let length = series.numbers().len();
                version.numbers().len() >= length && series.numbers() == &version.numbers()[..length]
            })
        })
    }
}

/// Whether a version has a vulnerability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    Vulnerable,
    Safe,
    /// The known facts do not say.
    Unknown,
}

impl Cve {
    /// Whether a version has this vulnerability.
    pub fn exposure(&self, version: &str) -> Exposure {
        let Some(version) = Version::parse(version) else { return Exposure::Unknown };
        match &self.affected {
            Some(ranges) => within(ranges, &version),
            None => self.by_fix(&version),
        }
    }

    /// Judged by the fixed releases alone: only the series that has a fix is certain.
    fn by_fix(&self, version: &Version) -> Exposure {
        let fixes: Vec<Version> = self.fixed_in.iter().filter_map(|fix| Version::parse(fix)).collect();
        if fixes.len() != self.fixed_in.len() {
            return Exposure::Unknown;
        }
        if let Some(fix) = fixes.iter().find(|fix| fix.minor() == version.minor()) {
            return if version >= fix { Exposure::Safe } else { Exposure::Vulnerable };
        }
        match fixes.iter().max() {
            Some(newest) if version > newest => Exposure::Safe,
            _ => Exposure::Unknown,
        }
    }
}

/// Whether a version is in one of the ranges.
fn within(ranges: &str, version: &Version) -> Exposure {
    let mut exposure = Exposure::Safe;
    for range in ranges.split(", ") {
        match range.split(' ').map(|bound| holds(bound, version)).collect::<Option<Vec<bool>>>() {
            None => return Exposure::Unknown,
            Some(bounds) if bounds.iter().all(|bound| *bound) => exposure = Exposure::Vulnerable,
            Some(_) => {}
        }
    }
    exposure
}

/// Whether a version keeps to one bound (`<=1.16.1`); `None` when the bound is none.
fn holds(bound: &str, version: &Version) -> Option<bool> {
    let number = bound.trim_start_matches(['<', '>', '=']);
    let limit = Version::parse(number)?;
    match &bound[..bound.len() - number.len()] {
        "<" => Some(*version < limit),
        "<=" => Some(*version <= limit),
        ">" => Some(*version > limit),
        ">=" => Some(*version >= limit),
        "=" => Some(*version == limit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(component: &str, version: &str) -> Vec<&'static str> {
        table().vulnerable(component, version).into_iter().map(|cve| cve.id.as_str()).collect()
    }

    fn table() -> &'static Toolkit {
        crate::testing::catalog().toolkit()
    }

    #[test]
    fn reports_cves_per_toolkit_release() {
        assert!(table().release("1.17.8").is_some() && table().release("1.17.10").is_none());
        assert_eq!(ids("nvidia-container-toolkit", "1.17.7"), ["CVE-2025-23266", "CVE-2025-23267"]);
        assert!(ids("nvidia-container-toolkit", "1.17.8").is_empty());
        assert!(ids("nvidia-container-toolkit", "1.16.1").contains(&"CVE-2024-0132"));
        assert_eq!(table().cves("nvidia-container-toolkit").count(), 9);
    }

    #[test]
    fn cves_are_evaluated_per_release_series() {
        let runc = |version| ids("runc", version).contains(&"CVE-2025-31133");
        assert!(runc("1.1.12") && runc("1.2.7") && runc("1.3.2") && runc("1.4.0-rc.2"));
        assert!(!runc("1.2.8") && !runc("1.3.3") && !runc("1.4.0-rc.3") && !runc("1.5.0"));
        let docker = |version| ids("docker-engine", version).contains(&"CVE-2024-41110");
        assert!(docker("26.1.4") && docker("27.1.0") && docker("25.0.5"));
        assert!(!docker("26.1.5") && !docker("27.5.1"));
    }

    #[test]
    fn exposure_is_unknown_for_unlisted_series_and_versions() {
        let cve = table().cves("docker-engine").find(|cve| cve.id == "CVE-2026-34040").unwrap();
        assert_eq!(cve.exposure("29.3.0"), Exposure::Vulnerable);
        assert_eq!(cve.exposure("29.4.0"), Exposure::Safe);
        assert_eq!(cve.exposure("28.5.2"), Exposure::Unknown, "only the fix in 29 is known");
        // Ubuntu mends without a new upstream number.
        assert!(ids("runc", "1.1.7-0ubuntu1~22.04.7").is_empty());
        assert_eq!(
            table().cves("runc").next().unwrap().exposure("1.1.7-0ubuntu1~22.04.7"),
            Exposure::Unknown
        );
        assert_eq!(table().cves("podman").count(), 0);
    }

    #[test]
    fn finds_docker_series_and_end_of_life_by_version() {
        assert_eq!(table().engine_series("20.10").unwrap().end_of_life.as_deref(), Some("2023-12-10"));
        assert_eq!(table().engine_series("20.10.24").unwrap().series, "20.10");
        assert_eq!(table().engine_series("28.5.2").unwrap().series, "28");
        assert_eq!(table().engine_series("26.1.3").unwrap().series, "26.1");
        assert_eq!(table().engine_series("29.1.0").unwrap().end_of_life, None);
        assert!(table().engine_series("18.09.1").is_none());
        assert!(table().engine_series("2").is_none());
        assert!(table().engine_series("dev").is_none());
    }
}
