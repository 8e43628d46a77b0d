//! The package universe: every candidate in the catalog, with parsed versions, newest first.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::OnceLock;

use pep440_rs::{Version, VersionSpecifiers};

pub use super::python::{Python, series};
pub use super::releases::{CompiledFor, Differing, Markers, Package, Release};
pub use super::target::{Cuda, Target};
pub use super::without_cuda::WithoutCuda;
use super::{deepspeed, releases};
use crate::criteria::Criteria;
use catalog::Catalog;
use catalog::images::{self, Flavour, Image};
use catalog::systems::{self, System};
use catalog::{packages, torch};
use facts::support::capabilities;

/// Every candidate that a stack can be made of.
#[derive(Debug)]
pub struct Universe {
    /// The source of the candidates.
    pub catalog: &'static Catalog,
    /// Every CUDA build of every torch release.
    pub builds: Vec<Build>,
    /// The CPU build of every torch release: candidates only where one is required.
    pub cpu_builds: Vec<Build>,
    /// The Python series, oldest first.
    pub pythons: Vec<Python>,
    bases: [OnceLock<Vec<Base>>; BASES.len()],
    machines: OnceLock<Vec<Base>>,
    in_images: OnceLock<Vec<Build>>,
    packages: BTreeMap<&'static str, OnceLock<Package>>,
    /// Packages in the order in which they are chosen: what requires others comes before them.
    pub(crate) order: Vec<&'static str>,
}

const BASES: &[&str] = images::REPOSITORIES;

/// One build of a torch release.
#[derive(Debug, Clone)]
pub struct Build {
    /// Catalog row of the release.
    pub release: &'static torch::Release,
    /// Catalog row of the build.
    pub build: &'static torch::Build,
    /// The release's version, without the build.
    pub version: Version,
    /// Its CUDA, or the CPU alone.
    pub target: Target,
    /// What the release requires of setuptools.
    pub setuptools: Option<VersionSpecifiers>,
    /// Whether it is the one that PyPI serves for x86_64; see [`Build::on_pypi`].
    pub pypi: bool,
    /// The compute capabilities that it has machine code for; `None`: not known.
    pub compiled: Option<Vec<(u32, u32)>>,
    /// The compute capabilities that its wheels for aarch64 have machine code for; `None`: not known.
    pub compiled_aarch64: Option<Vec<(u32, u32)>>,
    /// The compute capabilities that it has PTX for; `None`: not known.
    pub ptx: Option<Vec<(u32, u32)>>,
    /// The glibc that its wheels ask for.
    pub glibc: Option<&'static str>,
    /// Whether it uses the new C++ ABI.
    pub cxx11_abi: Option<bool>,
    /// The torchvision of the release.
    pub torchvision: Option<Version>,
    /// What that torchvision declares of Python, where it leaves out patch releases.
    pub torchvision_python: Option<VersionSpecifiers>,
    /// The compatible torchaudio; `None`: there is none.
    pub torchaudio: Option<Version>,
    /// What it requires of triton.
    pub triton: Option<VersionSpecifiers>,
    /// The Python from which on it does not require triton (`3.13`).
    pub triton_python_below: Option<Version>,
    /// The NCCL that it requires or carries.
    pub nccl: Option<Version>,
    /// The image that contains it, if it is NVIDIA's build: it exists in no other place.
    pub image: Option<&'static Image>,
}

impl Build {
    /// Its CUDA; `None`: it is a CPU build.
    pub fn cuda(&self) -> Option<&Cuda> {
        match &self.target {
            Target::Cuda(cuda) => Some(cuda),
            Target::Cpu => None,
        }
    }

    /// Whether it is a CPU build.
    pub fn is_cpu(&self) -> bool {
        self.target == Target::Cpu
    }

    /// The version of its CUDA, by which builds are ordered.
    pub(crate) fn cuda_version(&self) -> Option<&Version> {
        self.cuda().map(|cuda| &cuda.version)
    }

    /// `torch 2.5.1+cu121`.
    pub fn name(&self) -> String {
        format!("torch {}+{}", self.release.version, self.build.build)
    }

    /// Major and minor number of the release.
    pub fn series(&self) -> (u64, u64) {
        series(&self.version)
    }

    /// Series of the release: `2.5`.
    pub fn series_text(&self) -> &'static str {
        let version = self.release.version.as_str();
        version.rsplit_once('.').map_or(version, |(series, _)| series)
    }
}

/// A base image, or a bare system.
#[derive(Debug)]
pub struct Base {
    /// The image; `None` for the machine itself.
    pub image: Option<&'static Image>,
    /// Its system, where it is known.
    pub system: Option<&'static System>,
    /// Its CUDA toolkit, where it has one.
    pub cuda: Option<Version>,
    /// Whether it has only the CUDA libraries, or nvcc too.
    pub flavour: Flavour,
}

impl Base {
    /// `nvidia/cuda:12.1.1-base-ubuntu22.04`, or `this machine`.
    pub fn name(&self) -> String {
        match (self.image, self.system) {
            (Some(image), _) => image.reference(),
            (None, Some(system)) => format!("a machine with {}", system.name),
            (None, None) => "the machine itself".to_owned(),
        }
    }

    /// Whether the image or the packages of its distribution have this Python.
    pub fn provides_python(&self, catalog: &Catalog, python: &Python) -> bool {
        let in_image = self.image.and_then(|image| image.python.as_deref());
        let of_system = self.system.and_then(|system| system.python.as_deref());
        [in_image, of_system].contains(&Some(python.text.as_str()))
            || self
                .system
                .and_then(|system| catalog.systems().python_source(&system.id, &python.text))
                .is_some_and(|source| source.distribution == Some(true))
    }

    /// Whether it has nvcc; of a machine that is not known.
    pub fn has_nvcc(&self) -> Option<bool> {
        self.image.map(|_| self.flavour == Flavour::Devel)
    }

    /// The CUDA of its toolkit as the catalog writes it: `12.1.1`.
    pub fn cuda_text(&self) -> Option<&'static str> {
        self.image.and_then(|image| image.cuda.as_deref())
    }
}

impl Universe {
    /// Parses the versions of torch and Python; the rest on first use.
    pub fn new(catalog: &'static Catalog) -> Universe {
        let names = packages::names().chain(["deepspeed"]);
        Universe {
            catalog,
            builds: builds(catalog),
            cpu_builds: cpu_builds(catalog),
            pythons: pythons(catalog),
            bases: [const { OnceLock::new() }; BASES.len()],
            machines: OnceLock::new(),
            in_images: OnceLock::new(),
            packages: names.map(|name| (name, OnceLock::new())).collect(),
            order: catalog.package_order().all().iter().map(|row| row.package.as_str()).collect(),
        }
    }

    /// The candidate builds: those in NVIDIA's images if one of these is required, else the CPU builds of
    /// PyTorch's releases if one is required, else their CUDA builds.
    pub fn candidates(&self, criteria: &Criteria) -> &[Build] {
        if criteria.bases.iter().any(|base| base.repository() == Some(images::NGC)) {
            return self.in_images.get_or_init(|| in_images(self.catalog));
        }
        if criteria.cpu { &self.cpu_builds } else { &self.builds }
    }

    /// The builds of PyTorch's releases that are of the kind of another one: CUDA builds or CPU builds.
    pub(crate) fn same_kind(&self, build: &Build) -> &[Build] {
        if build.is_cpu() { &self.cpu_builds } else { &self.builds }
    }

    /// The images of a repository; empty where the catalog has none.
    pub fn bases(&self, repository: &str) -> &[Base] {
        let Some(index) = BASES.iter().position(|known| *known == repository) else { return &[] };
        self.bases[index].get_or_init(|| {
            self.catalog.images().of(repository).iter().map(|image| base(self.catalog, image)).collect()
        })
    }

    /// Machines without an image: one of an unknown system first, then one of every system.
    pub fn machines(&self) -> &[Base] {
        self.machines.get_or_init(|| {
            let machine = |system| Base { image: None, system, cuda: None, flavour: Flavour::Plain };
            std::iter::once(None).chain(self.catalog.systems().all().iter().map(Some)).map(machine).collect()
        })
    }

    /// The package with this normalised name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        let (name, package) = self.packages.get_key_value(name)?;
        Some(package.get_or_init(|| match *name {
            "deepspeed" => deepspeed::package(self.catalog),
            name => releases::of_catalog(self.catalog, name),
        }))
    }

    /// The names of all packages.
    pub fn package_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.packages.keys().copied()
    }
}

/// A version of the catalog, which its tests hold to be one.
fn version(text: &str) -> Option<Version> {
    Version::from_str(text).ok()
}

fn builds(catalog: &'static Catalog) -> Vec<Build> {
    let of = |release: &'static torch::Release| {
        release.builds.iter().filter_map(move |row| build(catalog, release, row))
    };
    catalog.torch().all().iter().flat_map(of).collect()
}

fn cpu_builds(catalog: &'static Catalog) -> Vec<Build> {
    let of = |release: &'static torch::Release| build(catalog, release, release.cpu.as_ref()?);
    catalog.torch().all().iter().filter_map(of).collect()
}

/// The torch of every image of NVIDIA's of which it is known for which CUDA and which Python it was built.
fn in_images(catalog: &'static Catalog) -> Vec<Build> {
    let of = |(image, release): (&'static Image, &'static torch::Release)| {
        Some(Build { image: Some(image), ..build(catalog, release, release.builds.first()?)? })
    };
    catalog.images().torches().filter_map(of).collect()
}

fn build(
    catalog: &'static Catalog,
    release: &'static torch::Release,
    build: &'static torch::Build,
) -> Option<Build> {
    let target = match build.cuda.as_deref() {
        Some(text) => Target::Cuda(Cuda::new(catalog, text)?),
        None if build.build == catalog.torch().cpu_build() => Target::Cpu,
        None => return None,
    };
    let partner = |text: &Option<String>| text.as_deref().and_then(version);
    let parsed = |list: &Option<Vec<String>>| list.as_deref().map(capabilities);
    Some(Build {
        version: version(&release.version)?,
        setuptools: release.setuptools.as_deref().and_then(|text| text.parse().ok()),
        pypi: release.pypi_build.as_deref() == Some(&build.build),
        compiled: parsed(&build.architectures),
        compiled_aarch64: parsed(&build.aarch64_architectures),
        ptx: parsed(&build.ptx),
        glibc: build.glibc_min.as_deref().or(release.glibc_min.as_deref()),
        cxx11_abi: build
            .cxx11_abi
            .or(release.cxx11_abi.filter(|_| release.pypi_build.as_ref() == Some(&build.build))),
        torchvision: partner(&release.torchvision),
        torchvision_python: release.torchvision_python.as_deref().and_then(|text| text.parse().ok()),
        torchaudio: release.torchaudio_of(&build.build).and_then(|text| version(text)),
        // What the release requires is that of the build on PyPI; CPU wheels require none.
        triton: build
            .triton
            .as_deref()
            .or(release.triton.as_deref().filter(|_| build.cuda.is_some()))
            .and_then(required),
        triton_python_below: partner(&release.triton_python_below),
        nccl: partner(&build.nccl),
        target,
        image: None,
        release,
        build,
    })
}

/// A requirement of the catalog: a version, or specifiers.
fn required(text: &str) -> Option<VersionSpecifiers> {
    let pinned = text.starts_with(|first: char| first.is_ascii_digit());
    VersionSpecifiers::from_str(&if pinned { format!("=={text}") } else { text.to_owned() }).ok()
}

fn pythons(catalog: &Catalog) -> Vec<Python> {
    let of = |row: &systems::Python| {
        let number = version(&row.python)?;
        Some(Python::new(row.python.clone(), number, row.end_of_life.clone()))
    };
    catalog.systems().pythons().iter().filter_map(of).collect()
}

fn base(catalog: &'static Catalog, image: &'static Image) -> Base {
    Base {
        image: Some(image),
        system: image.system.as_deref().and_then(|it| catalog.systems().system(it)),
        cuda: image.cuda.as_deref().and_then(version),
        flavour: image.flavour,
    }
}
