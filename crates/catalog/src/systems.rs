//! Linux distributions as base systems, where each gets its Pythons from, and which compilers nvcc accepts.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
pub use super::system_pythons::{Deadsnakes, DnfPython};
pub use super::system_releases::{ArchivedSystem, OtherRelease};
use super::version;
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// As image tags write it: `ubuntu22.04`, `debian12`, `rockylinux9`, `ubi9`.
    pub id: String,
    pub family: Family,
    /// `Ubuntu 22.04`.
    pub name: String,
    /// `jammy`.
    pub codename: Option<String>,
    /// The image of the bare system: `ubuntu:22.04`.
    pub image: Option<String>,
    /// Other tags of that image: `jammy`.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The last day on which a list named the image; empty where none is known.
    #[serde(default)]
    pub image_seen: String,
    /// Its default gcc.
    pub gcc: Option<String>,
    /// Its default Python: `3.10`.
    pub python: Option<String>,
    /// `2.35`; it decides which manylinux wheels can be installed.
    pub glibc: Option<String>,
    pub released: Option<String>,
    /// The day on which standard support ends.
    pub end_of_life: Option<String>,
    /// True where pip refuses to install into the system's Python (PEP 668).
    pub externally_managed: Option<bool>,
    /// The newest pip for its own Python, where its package python3-pip is too old for uv's wheels.
    pub pip_first: Option<String>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// Systems whose packages have the same names and come the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    Ubuntu,
    Debian,
    /// Rocky Linux and Red Hat's universal base images too.
    Rhel,
}

impl Family {
    /// Whether packages come through apt; if not, through dnf.
    pub fn has_apt(self) -> bool {
        self != Family::Rhel
    }
}

/// Where a system gets a Python from; what is not known is `None`.
#[derive(Debug, Clone)]
pub struct PythonSource {
    /// `ubuntu22.04`.
    pub system: String,
    /// `3.12`.
    pub python: String,
    /// The distribution's own package of a final release.
    pub distribution: Option<bool>,
    /// The deadsnakes archive.
    pub deadsnakes: Option<bool>,
    /// `uv python install`.
    pub uv: Option<bool>,
    /// Whether the distribution's package is a pre-release.
    pub pre_release: bool,
    /// What else is to know of the system's Pythons.
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    pub checked: String,
}

/// The Pythons of one system, with `all` for every series; what is in no list is not known.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PythonLists {
    system: String,
    #[serde(default)]
    distribution: Vec<String>,
    #[serde(default)]
    not_distribution: Vec<String>,
    #[serde(default)]
    deadsnakes: Vec<String>,
    #[serde(default)]
    not_deadsnakes: Vec<String>,
    #[serde(default)]
    pre_release: Vec<String>,
    note: Option<String>,
    source: Sources,
    #[serde(default)]
    checked: String,
}

/// The Pythons that `uv python install` brings: builds of python-build-standalone for Linux with glibc
/// (x86_64 and aarch64).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uv {
    /// The series: `3.12`.
    pub pythons: Vec<String>,
    /// The newest release of each.
    pub newest: Vec<String>,
    /// The oldest glibc on which they run.
    pub glibc: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Python {
    /// `3.12`.
    pub python: String,
    pub released: Option<String>,
    /// The day of its end.
    pub end_of_life: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// The gcc versions that the nvcc of some CUDA releases accepts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compilers {
    /// The first CUDA release of the range: `12.4`.
    pub cuda_from: String,
    /// The last one, included: `12.6.3`.
    pub cuda_to: String,
    /// The oldest gcc.
    pub gcc_min: Option<String>,
    /// The newest gcc, included: `13`, or `11.1` where the minor matters.
    pub gcc_max: Option<String>,
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(System, PythonLists, Python, Compilers, Uv);

/// `catalog/systems.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Systems {
    checked: String,
    sources: SharedSources,
    systems: Vec<System>,
    pythons: Vec<Python>,
    uv: Uv,
    python_sources: Vec<PythonLists>,
    deadsnakes: Deadsnakes,
    dnf_pythons: Vec<DnfPython>,
    compilers: Vec<Compilers>,
    archived: Vec<ArchivedSystem>,
    other_releases: Vec<OtherRelease>,
    /// `python_sources`, one a system and a Python: made when first asked for.
    #[serde(skip)]
    expanded_sources: OnceLock<Vec<PythonSource>>,
}

impl Contents for Systems {
    const NAME: &str = "systems.yaml";
    const TEXT: &str = file::text!("systems.yaml");
}

file::sourced!(
    Systems,
    [systems, pythons, python_sources, dnf_pythons, compilers, archived, other_releases, uv, deadsnakes]
);

fn has(list: &[String], series: &str) -> bool {
    list.iter().any(|one| one == "all" || one == series)
}

fn expand<'a>(lists: &'a PythonLists, systems: &'a Systems) -> impl Iterator<Item = PythonSource> + 'a {
    let availability = |python: &str, yes: &[String], no: &[String]| match (has(yes, python), has(no, python))
    {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let uv = &systems.uv;
    let glibc = systems.system(&lists.system).and_then(|system| system.glibc.as_deref());
    let fits = glibc.and_then(|glibc| version::compare(glibc, &uv.glibc)).map(|order| order.is_ge());
    systems.pythons.iter().map(move |series| PythonSource {
        system: lists.system.clone(),
        python: series.python.clone(),
        distribution: availability(&series.python, &lists.distribution, &lists.not_distribution),
        deadsnakes: availability(&series.python, &lists.deadsnakes, &lists.not_deadsnakes),
        uv: fits.filter(|fits| !fits || has(&uv.pythons, &series.python)),
        pre_release: has(&lists.pre_release, &series.python),
        note: lists.note.clone(),
        source: lists.source.and(&uv.source),
        checked: lists.checked.clone(),
    })
}

impl Systems {
    /// All systems, by family, oldest first.
    pub fn all(&self) -> &[System] {
        &self.systems
    }

    /// The release of an image whose packages were moved to an archive.
    pub fn archived(&self, image: &str) -> Option<&ArchivedSystem> {
        self.archived.iter().find(|row| row.is_in(image))
    }

    /// The archive of a release by its name: `Ubuntu 23.10`.
    pub fn archive_of(&self, name: &str) -> Option<&ArchivedSystem> {
        self.archived.iter().find(|row| row.name == name)
    }

    /// The releases that are no base systems, by family, oldest first.
    pub fn other_releases(&self) -> &[OtherRelease] {
        &self.other_releases
    }

    /// All Python series, oldest first.
    pub fn pythons(&self) -> &[Python] {
        &self.pythons
    }

    /// Where systems get their Pythons from: every system with every Python.
    pub fn python_sources(&self) -> &[PythonSource] {
        let lists = || self.python_sources.iter().flat_map(|lists| expand(lists, self)).collect();
        self.expanded_sources.get_or_init(lists)
    }

    /// What `uv python install` brings.
    pub fn uv(&self) -> &Uv {
        &self.uv
    }

    /// The deadsnakes archive.
    pub fn deadsnakes(&self) -> &Deadsnakes {
        &self.deadsnakes
    }

    /// The Pythons of a system whose packages come through dnf, newest first.
    pub fn dnf_pythons(&self, system: &str) -> impl Iterator<Item = &DnfPython> {
        self.dnf_pythons.iter().filter(move |row| row.system == system)
    }

    /// Which compilers nvcc accepts, oldest CUDA first.
    pub fn compilers(&self) -> &[Compilers] {
        &self.compilers
    }

    /// The system with this id (`ubuntu22.04`).
    pub fn system(&self, id: &str) -> Option<&System> {
        self.all().iter().find(|row| row.id == id)
    }

    /// The Python series with this number (`3.12`).
    pub fn python(&self, series: &str) -> Option<&Python> {
        self.pythons().iter().find(|row| row.python == series)
    }

    /// Where a system gets a Python from; `None` where it is not known.
    pub fn python_source(&self, system: &str, python: &str) -> Option<&PythonSource> {
        self.python_sources().iter().find(|row| row.system == system && row.python == python)
    }

    /// The gcc versions that the nvcc of this CUDA accepts (`12.4.1`; of `12.4` the first release counts);
    /// `None` where it is not known.
    pub fn gcc_range(&self, cuda: &str) -> Option<&Compilers> {
        self.compilers().iter().find(|row| {
            let from = version::compare(&row.cuda_from, cuda).is_some_and(|order| order.is_le());
            from && version::compare(cuda, &row.cuda_to).is_some_and(|order| order.is_le())
        })
    }
}
