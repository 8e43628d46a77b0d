//! The table of torch releases and their CUDA builds, one file a format.

pub mod html;
pub mod markdown;
pub mod text;

use crate::request::Gpu;
use crate::universe::{Python, series};
use catalog::Catalog;
use catalog::torch::{Build, Release};
use diagnostic::words;
use facts::support::has_code;

/// Which torch release has a build for which CUDA.
#[derive(Debug)]
pub struct Matrix {
    /// What it was narrowed down to: `3.12`; `None`: every Python.
    pub python: Option<String>,
    /// The GPUs that every build must run on, as the user named them; empty: every GPU.
    pub for_gpus: Vec<String>,
    /// The CUDA versions of the columns, oldest first.
    pub cudas: Vec<String>,
    /// One row a release, newest first.
    pub rows: Vec<Row>,
    /// The newest day on which a row was held against its source.
    pub checked: String,
    /// The architecture of each GPU code that builds name, the oldest first: `90`, `Hopper`.
    pub gpus: Vec<(String, String)>,
}

/// A torch release.
#[derive(Debug)]
pub struct Row {
    /// `2.5.1`.
    pub torch: String,
    pub released: String,
    /// `3.9-3.13`; `?` where it is not known.
    pub pythons: String,
    /// `2.28`; `?` where it is not known.
    pub glibc: String,
    /// In the order of the CUDA columns.
    pub cells: Vec<Cell>,
}

/// Whether a release has a build for a CUDA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The release has no build for the CUDA.
    None,
    /// It is not known whether it has one.
    Unknown,
    /// The release has a build for the CUDA.
    Build {
        /// Whether it is the one that `pip install torch` gives.
        pypi: bool,
        /// Whether newer GPUs are served by PTX.
        ptx: bool,
        /// What is in it.
        build: Box<BuildInfo>,
    },
}

/// A build as a page describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildInfo {
    /// `2.5.1+cu124`.
    pub version: String,
    /// The compute capabilities that it has machine code for, the oldest first; empty where not known.
    pub architectures: Vec<String>,
    /// The NCCL that it requires or carries.
    pub nccl: Option<String>,
    /// The cuDNN that it requires or carries.
    pub cudnn: Option<String>,
    /// The command that installs it.
    pub install: String,
}

/// What the signs of the cells mean: sign and meaning.
pub const LEGEND: &[(&str, &str)] = &[
    ("50-90", "a build; the oldest GPUs that it has code for are sm_50, the newest sm_90"),
    ("*", "the build that `pip install torch` gives (PyPI)"),
    ("+", "it has PTX, which newer GPUs run too"),
    ("yes", "a build; for which GPUs it has code is not known"),
    ("-", "no such build, or none for that Python or GPU"),
    ("?", "not known"),
];

/// What a table is narrowed down to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'f> {
    /// `3.12`, as the user named the Pythons.
    pub python: Option<&'f str>,
    /// A build has wheels for one of these Pythons.
    pub pythons: Option<&'f [&'f Python]>,
    /// A build runs on each of these GPUs.
    pub gpus: &'f [Gpu],
}

impl Filter<'_> {
    fn has_python(&self, list: &Option<Vec<String>>) -> bool {
        match (list, self.pythons) {
            (Some(list), Some(pythons)) => pythons.iter().any(|python| list.contains(&python.text)),
            _ => true,
        }
    }

    /// Whether the GPUs run a build; a build of which that is not known stays.
    fn has_gpus(&self, catalog: &Catalog, build: &Build) -> bool {
        let runs = |gpu: &Gpu| {
            let architectures = build.architectures.as_ref()?;
            has_code(catalog, architectures, build.ptx.as_deref(), gpu.capability).known().copied()
        };
        self.gpus.iter().all(|gpu| runs(gpu) != Some(false))
    }

    fn has(&self, catalog: &Catalog, build: &Build) -> bool {
        self.has_python(&build.pythons) && self.has_gpus(catalog, build)
    }

    /// A release with a build that fits.
    fn has_release(&self, catalog: &Catalog, release: &Release) -> bool {
        let builds = || release.builds.iter().any(|build| self.has_gpus(catalog, build));
        self.has_python(&release.pythons) && (self.gpus.is_empty() || builds())
    }
}

impl Matrix {
    /// The table of the catalog, of the releases and builds that fit.
    pub fn new(catalog: &'static Catalog, filter: Filter<'_>) -> Matrix {
        let releases = catalog.torch().all().iter().rev();
        let releases: Vec<&Release> =
            releases.filter(|release| filter.has_release(catalog, release)).collect();
        let builds = releases.iter().flat_map(|release| &release.builds);
        let builds = builds.filter(|build| filter.has_gpus(catalog, build));
        let mut cudas: Vec<&str> = builds.filter_map(|build| build.cuda.as_deref()).collect();
        cudas.sort_by_cached_key(|cuda| cuda.parse().map_or((0, 0), |version| series(&version)));
        cudas.dedup();
        let cell = |release: &Release, cuda: &str| {
            let build = release.builds.iter().find(|build| build.cuda.as_deref() == Some(cuda));
            match build {
                Some(build) if filter.has(catalog, build) => Cell::new(release, build),
                None if !release.builds_complete => Cell::Unknown,
                _ => Cell::None,
            }
        };
        let row = |release: &&Release| Row {
            torch: release.version.clone(),
            released: release.released.clone().unwrap_or_default(),
            pythons: span(release.pythons.as_deref()),
            glibc: release.glibc_min.clone().unwrap_or_else(|| "?".into()),
            cells: cudas.iter().map(|cuda| cell(release, cuda)).collect(),
        };
        Matrix {
            python: filter.python.map(str::to_owned),
            for_gpus: filter.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
            rows: releases.iter().map(row).collect(),
            checked: releases.iter().map(|release| release.checked.as_str()).max().unwrap_or("").to_owned(),
            cudas: cudas.iter().map(|cuda| (*cuda).to_owned()).collect(),
            gpus: gpus(catalog, &releases),
        }
    }

    /// The architectures of these compute capabilities: `Kepler to Hopper`, `up to Hopper` where the catalog
    /// has no GPU of the oldest; `None` where it has none of the newest.
    fn architectures(&self, capabilities: &[String]) -> Option<String> {
        let name = |capability: &String| {
            let code = bare(capability);
            self.gpus.iter().find(|(known, _)| *known == code).map(|(_, name)| name)
        };
        let (first, last) = (name(capabilities.first()?), name(capabilities.last()?)?);
        Some(match first {
            None => format!("up to {last}"),
            Some(first) if first == last => last.clone(),
            Some(first) => format!("{first} to {last}"),
        })
    }

    /// What it is, in one line.
    pub fn title(&self) -> String {
        let python = self.python.as_ref().map(|python| format!("Python {python}"));
        let wanted: Vec<String> = python.into_iter().chain(self.for_gpus.iter().cloned()).collect();
        match wanted.is_empty() {
            false => format!("torch and its CUDA builds for {}, Linux x86_64", words::and(&wanted)),
            true => "torch and its CUDA builds, Linux x86_64".into(),
        }
    }
}

impl Cell {
    fn new(release: &Release, build: &Build) -> Cell {
        let pypi = release.pypi_build.as_deref() == Some(&build.build);
        let install = match pypi {
            true => format!("pip install torch=={}", release.version),
            false => format!(
                "pip install torch=={}+{1} --index-url https://download.pytorch.org/whl/{1}",
                release.version, build.build
            ),
        };
        let info = BuildInfo {
            version: format!("{}+{}", release.version, build.build),
            architectures: build.architectures.clone().unwrap_or_default(),
            nccl: build.nccl.clone(),
            cudnn: build.cudnn.clone(),
            install,
        };
        let ptx = build.ptx.as_ref().is_some_and(|list| !list.is_empty());
        Cell::Build { pypi, ptx, build: Box::new(info) }
    }

    /// In signs: `50-90*`.
    pub fn signs(&self) -> String {
        match self {
            Cell::None => "-".into(),
            Cell::Unknown => "?".into(),
            Cell::Build { pypi, ptx, build } => {
                // The oldest and the newest GPU that it has machine code for.
                let range = match (build.architectures.first(), build.architectures.last()) {
                    (Some(from), Some(to)) => format!("{}-{}", bare(from), bare(to)),
                    _ => "yes".to_owned(),
                };
                format!("{range}{}{}", if *ptx { "+" } else { "" }, if *pypi { "*" } else { "" })
            }
        }
    }
}

/// A compute capability (`9.0`) as the table writes it: `90`.
fn bare(capability: &str) -> String {
    capability.replace('.', "")
}

/// The GPU codes that builds of these releases name, with the architecture of a GPU that has it.
fn gpus(catalog: &'static Catalog, releases: &[&Release]) -> Vec<(String, String)> {
    let builds = releases.iter().flat_map(|release| &release.builds);
    let mut named: Vec<&String> = builds.filter_map(|build| build.architectures.as_ref()).flatten().collect();
    named.sort_by_cached_key(|one| bare(one).parse::<u32>().unwrap_or(u32::MAX));
    named.dedup();
    let architecture = |capability: &&String| {
        let gpu = catalog.gpus().all().iter().find(|gpu| gpu.compute_capability == **capability)?;
        Some((bare(capability), gpu.architecture.clone()))
    };
    named.iter().filter_map(architecture).collect()
}

/// The first and the last of some Pythons, without the free-threaded ones.
fn span(pythons: Option<&[String]>) -> String {
    let plain: Vec<&String> = pythons.unwrap_or_default().iter().filter(|one| !one.ends_with('t')).collect();
    match plain[..] {
        [] => "?".into(),
        [one] => one.clone(),
        [first, .., last] => format!("{first}-{last}"),
    }
}

#[cfg(test)]
mod tests;
