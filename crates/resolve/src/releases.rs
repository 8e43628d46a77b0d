//! Packages and their releases as the search needs them.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

pub use super::markers::{Differing, Markers};
use super::python::Python;
use super::without_cuda::WithoutCuda;
use catalog::{Catalog, Sources, flash_attn, packages};

/// A package on PyPI that the resolver can choose.
#[derive(Debug)]
pub struct Package {
    /// Normalised as in PEP 503: `flash-attn`.
    pub name: &'static str,
    /// Its releases, newest first; yanked ones are left out.
    pub releases: Vec<Release>,
    /// Whether the catalog records that the index has releases before the oldest of these.
    pub older_releases: bool,
}

/// A release of a Python package.
#[derive(Debug, Clone)]
pub struct Release {
    /// Normalised name of its package.
    pub package: &'static str,
    /// The version as PyPI writes it.
    pub text: String,
    /// `text`, parsed.
    pub version: Version,
    /// The day of its upload; empty where it is not known.
    pub released: String,
    /// `Requires-Python`.
    pub python: Option<VersionSpecifiers>,
    /// The Pythons with wheels; `None`: one wheel serves all, or there is none.
    pub pythons: Option<&'static [String]>,
    /// The glibc that its wheels need.
    pub glibc: Option<&'static str>,
    /// Whether there are wheels for aarch64.
    pub aarch64: Option<bool>,
    /// True where it is compiled when it is installed.
    pub source_only: bool,
    /// True if it has no wheel although other releases of the package have one: it is not meant to be
    /// compiled.
    pub lacks_wheel: bool,
    /// Package → which versions of it, where `elsewhere` says nothing else.
    pub requires: Vec<(&'static str, VersionSpecifiers)>,
    /// What differs on some Pythons and processors.
    pub elsewhere: Vec<Differing>,
    /// DeepSpeed's own row, of a release of it.
    pub deepspeed: Option<&'static catalog::deepspeed::Release>,
    /// The prebuilt wheels of a release of flash-attn, where they are known.
    pub flash_attn: Option<&'static flash_attn::Release>,
    /// What it does not go together with, beyond its requirements.
    pub incompatible: Vec<Incompatible>,
    /// What it requires through packages that the catalog does not have.
    pub indirect: Vec<Indirect>,
    /// Where something that it requires has no wheel.
    pub without_wheels: Vec<&'static packages::WithoutWheel>,
    /// The CUDA of its compiled code.
    pub compiled_for: CompiledFor,
    /// Whether it works with a CPU build of torch.
    pub without_cuda: WithoutCuda,
    /// The lowest compute capability that it supports; `None`: not known.
    pub compute_capability_min: Option<(u32, u32)>,
    /// Packages that have to be there on some Pythons, without being required.
    pub companions: Vec<(&'static str, VersionSpecifiers)>,
    /// Sources of the catalog row.
    pub source: &'static Sources,
}

/// The CUDA whose libraries the wheels of a release load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompiledFor {
    /// It has no such code, or is compiled when it is installed, or brings code for several.
    AnyCuda,
    /// One major version.
    Cuda(u32),
    /// Other releases of the package need a certain CUDA; of this one it was not read.
    Unknown,
}

/// A requirement through a package that the catalog does not have.
#[derive(Debug, Clone)]
pub struct Indirect {
    /// The package of the catalog.
    pub package: &'static str,
    pub versions: VersionSpecifiers,
    /// The requirement that leads there: `opencv-python-headless >=4.13.0`.
    pub through: &'static str,
    /// The Pythons on which it does; `None`: every one.
    pub pythons: Option<&'static [String]>,
}

impl Indirect {
    /// Whether it holds on a Python.
    pub fn holds_on(&self, python: &Python) -> bool {
        self.pythons.is_none_or(|list| list.contains(&python.text))
    }
}

/// What a release does not go together with.
#[derive(Debug, Clone)]
pub struct Incompatible {
    /// The other package, or `torch`, or `cuda`: the CUDA of torch's build.
    pub with: &'static str,
    pub versions: VersionSpecifiers,
    /// The Pythons to which it is limited.
    pub python: Option<VersionSpecifiers>,
    pub effect: &'static str,
}

impl Release {
    /// A release of which no rule is known.
    pub(super) fn new(
        package: &'static str,
        text: &str,
        version: Version,
        source: &'static Sources,
    ) -> Release {
        Release {
            package,
            text: text.to_owned(),
            version,
            released: String::new(),
            python: None,
            pythons: None,
            glibc: None,
            aarch64: None,
            source_only: false,
            lacks_wheel: false,
            requires: Vec::new(),
            elsewhere: Vec::new(),
            deepspeed: None,
            flash_attn: None,
            incompatible: Vec::new(),
            indirect: Vec::new(),
            without_wheels: Vec::new(),
            compiled_for: CompiledFor::AnyCuda,
            without_cuda: WithoutCuda::Works,
            compute_capability_min: None,
            companions: Vec::new(),
            source,
        }
    }

    /// `numpy 1.26.4`.
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.text)
    }

    /// The packages that must be installed with it on a Python, without being required.
    pub fn companions<'r>(&'r self, python: &'r Python) -> impl Iterator<Item = &'static str> + 'r {
        self.companions.iter().filter(|(_, on)| python.within(on)).map(|(name, _)| *name)
    }

    /// Why it does not go together with a version of something.
    pub fn refuses(&self, with: &str, version: &Version) -> Option<&Incompatible> {
        self.incompatible.iter().find(|row| row.with == with && row.versions.contains(version))
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

pub(super) fn version(text: &str) -> Option<Version> {
    Version::from_str(text).ok()
}

/// Specifiers of the catalog, which its tests hold to be some.
pub(super) fn specifiers(text: &str) -> Option<VersionSpecifiers> {
    VersionSpecifiers::from_str(text).ok()
}

pub(super) fn of_catalog(catalog: &'static Catalog, name: &'static str) -> Package {
    let package = catalog.package(name);
    let rows = package.map_or(&[][..], |package| &package.rows);
    let rules: RulesByRelease<Incompatible> = package
        .map_or(&[][..], |package| &package.incompatible)
        .iter()
        .filter_map(|row| {
            let (with, effect) = (row.with.as_str(), row.effect.as_str());
            let rule = Incompatible { with, versions: specifiers(&row.versions)?, python: None, effect };
            Some((specifiers(&row.releases)?, rule))
        })
        .collect();
    let mut releases: Vec<Release> = rows
        .iter()
        .filter(|row| !row.yanked)
        .flat_map(|row| row.releases.iter().filter_map(|(text, day)| release(catalog, name, row, text, day)))
        .collect();
    let has_wheels = rows.iter().any(|row| !row.source_only);
    let compiled: RulesByRelease<&packages::Compiled> = package
        .map_or(&[][..], |package| &package.compiled)
        .iter()
        .filter_map(|row| Some((specifiers(&row.releases)?, row)))
        .collect();
    let indirect: RulesByRelease<Indirect> =
        package.map_or(&[][..], |package| &package.indirect).iter().filter_map(indirect).collect();
    let without_wheels: RulesByRelease<&packages::WithoutWheel> = package
        .map_or(&[][..], |package| &package.without_wheels)
        .iter()
        .filter_map(|row| Some((specifiers(&row.releases)?, row)))
        .collect();
    for release in &mut releases {
        release.without_wheels = rules_for(&without_wheels, &release.version);
        release.lacks_wheel = release.source_only && has_wheels;
        release.incompatible = rules_for(&rules, &release.version);
        release.indirect = rules_for(&indirect, &release.version);
        release.compiled_for = compiled_for(release, &compiled);
        let of_release = rules_for(&compiled, &release.version);
        let minimum = of_release.iter().find_map(|row| row.compute_capability_min.as_deref());
        release.compute_capability_min = minimum.and_then(catalog::version::minor);
        let needs_cuda =
            matches!(release.compiled_for, CompiledFor::Cuda(_)) || release.compute_capability_min.is_some();
        release.without_cuda = WithoutCuda::of(needs_cuda, package, !compiled.is_empty());
    }
    releases.sort_by(|one, other| other.version.cmp(&one.version));
    Package { name, releases, older_releases: package.is_some_and(|package| package.older_releases) }
}

/// The CUDA of a release's wheels. Wheels without compiled code ask for no glibc.
fn compiled_for(release: &Release, rows: &RulesByRelease<&packages::Compiled>) -> CompiledFor {
    let any = rows.iter().all(|(_, row)| row.cuda.is_none());
    if any || release.source_only || release.glibc.is_none() {
        return CompiledFor::AnyCuda;
    }
    let cuda = rules_for(rows, &release.version).into_iter().find_map(|row| row.cuda);
    cuda.map_or(CompiledFor::Unknown, CompiledFor::Cuda)
}

fn indirect(row: &'static packages::Indirect) -> Option<(VersionSpecifiers, Indirect)> {
    let (package, through) = (row.package.as_str(), row.through.as_str());
    let (versions, pythons) = (specifiers(&row.versions)?, row.pythons.as_deref());
    let requirement = Indirect { package, versions, through, pythons };
    Some((specifiers(&row.releases)?, requirement))
}

/// Rules, each with the releases that it is about.
pub(super) type RulesByRelease<T> = Vec<(VersionSpecifiers, T)>;

/// The rules that are about a version.
pub(super) fn rules_for<T: Clone>(rules: &[(VersionSpecifiers, T)], version: &Version) -> Vec<T> {
    rules.iter().filter(|(releases, _)| releases.contains(version)).map(|(_, rule)| rule.clone()).collect()
}

fn required(requires: &'static BTreeMap<String, String>) -> Vec<(&'static str, VersionSpecifiers)> {
    requires.iter().filter_map(|(name, text)| Some((name.as_str(), specifiers(text)?))).collect()
}

fn release(
    catalog: &'static Catalog,
    name: &'static str,
    row: &'static packages::Row,
    text: &str,
    day: &str,
) -> Option<Release> {
    let elsewhere = row.elsewhere.iter().map(|row| Differing { row, requires: required(&row.requires) });
    Some(Release {
        released: day.to_owned(),
        python: row.python.as_deref().and_then(specifiers),
        pythons: row.pythons.as_deref(),
        glibc: row.glibc.as_deref(),
        aarch64: row.aarch64,
        source_only: row.source_only,
        requires: required(&row.requires),
        elsewhere: elsewhere.collect(),
        flash_attn: (name == "flash-attn").then(|| catalog.flash_attn().release(text)).flatten(),
        ..Release::new(name, text, version(text)?, &row.source)
    })
}
