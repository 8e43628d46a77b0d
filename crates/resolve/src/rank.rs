//! The order of the candidates: what is better among stacks that all hold.
//!
//! First what is known and costs nothing (the search's tolerance). Then the packages that were asked for by
//! name, newest first. Then the torch build: what is installed, else the newest release; among the builds of
//! a release the one whose CUDA the driver knows in full, then PyPI's, then the newest CUDA. Then Python and
//! base image together: the tier, not past its end of life, a Python for which torchvision and torchaudio
//! have wheels, the system's own Python, the leanest image that does, the newest system. Then the other
//! packages, newest first.
//!
//! Where a search stays near to some versions ([`super::near`]), these come before all preferences.

use catalog::driver_support::DriverSupport;
use std::cmp::Reverse;

use pep440_rs::Version;

use super::constraints::image_driver;
use super::criteria::Criteria;
use super::request::{self, Prefer};
use super::universe::{Base, Build, Package, Python, Release, Universe, series};
use super::verdict::Judgement;
use catalog::images::{self, Flavour};

/// The builds, best first.
pub(crate) fn builds<'u>(universe: &'u Universe, criteria: &Criteria) -> Vec<&'u Build> {
    let newest = universe.candidates(criteria).iter().map(|build| &build.version).max();
    let mut builds: Vec<&Build> = universe.candidates(criteria).iter().collect();
    builds.sort_by_cached_key(|build| {
        let first_of_newest = newest.is_some_and(|newest| {
            series(newest) == series(&build.version)
                && build.version.release().get(2).is_none_or(|patch| *patch == 0)
        });
        (
            criteria.near.map(|near| near.of_torch(&build.version, build.cuda_version())),
            criteria.prefer == Prefer::Installed
                && criteria.installed.get("torch").is_none_or(|one| !same(one, &build.version)),
            criteria.prefer == Prefer::Stable && first_of_newest,
            missing_facts(criteria, build),
            Reverse(build.version.clone()),
            criteria.near.is_some_and(|near| near.is_other_build(&build.build.build)),
            criteria.oldest_driver().zip(build.cuda()).is_some_and(|(driver, cuda)| {
                cuda.driver_support(criteria.catalog, driver) != DriverSupport::Full
            }),
            !build.on_pypi(criteria.architecture()),
            Reverse(build.cuda_version().cloned()),
            // Of two images with one torch the newer one.
            Reverse(build.image.map(|image| &image.tag)),
        )
    });
    builds
}

/// How many facts that matter the catalog does not have of a build. Such a build is chosen only where there
/// is no other; then the one of which the most is known.
pub(crate) fn missing_facts(criteria: &Criteria, build: &Build) -> usize {
    let architecture = criteria.architecture();
    let wheel = architecture != "x86_64" && build.build.aarch64.is_none() && !build.on_pypi(architecture);
    let kernels = !criteria.gpus.is_empty() && build.compiled_for(architecture).is_none();
    let pythons = build.pythons_for(architecture).is_none();
    [wheel, kernels, pythons].into_iter().filter(|missing| *missing).count()
}

/// How near at hand base images are; the next tier is only looked at where nothing of the one before can be
/// had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// The required images; if none is required, nvidia/cuda of the build's CUDA.
    First,
    /// Images of a bare distribution: torch's wheels contain the CUDA libraries, where they need any.
    Bare,
    /// nvidia/cuda of the build's CUDA that may need a variable to be set before it starts on the driver.
    Required,
    Rest,
}

/// All tiers, best first.
pub(crate) const TIERS: [Tier; 4] = [Tier::First, Tier::Bare, Tier::Required, Tier::Rest];

/// How far an environment is from the versions that a search stays near to: torch, then Python.
pub(crate) fn distance(criteria: &Criteria, build: &Build, python: &Python) -> impl Ord + use<> {
    criteria
        .near
        .map(|near| (near.of_torch(&build.version, build.cuda_version()), near.of_python(&python.version)))
}

/// The base images of a tier that come into question for a build.
pub(crate) fn bases<'u>(
    universe: &'u Universe,
    criteria: &Criteria,
    build: &Build,
    tier: Tier,
) -> Vec<&'u Base> {
    if !criteria.bases.is_empty() {
        return if tier == Tier::First { requested(universe, criteria) } else { Vec::new() };
    }
    let repositories: Vec<&str> = match tier {
        Tier::First | Tier::Required => vec![CUDA],
        Tier::Bare => images::REPOSITORIES.iter().copied().filter(|name| bare(name)).collect(),
        Tier::Rest => images::REPOSITORIES.iter().copied().filter(|name| !bare(name)).collect(),
    };
    // An image of another CUDA major never does; for a CPU build one without CUDA is leaner.
    let major = build.cuda_version().map(|cuda| series(cuda).0);
    let same_major = |base: &&Base| base.cuda.as_ref().is_none_or(|cuda| Some(series(cuda).0) == major);
    let all = repositories.into_iter().flat_map(|name| universe.bases(name)).filter(same_major);
    all.filter(|base| of_system(criteria, base) && tier_of(criteria, build, base) == tier).collect()
}

/// Whether a base image has the required systems.
fn of_system(criteria: &Criteria, base: &Base) -> bool {
    criteria.systems.iter().all(|requirement| base.system.is_some_and(|system| system.id == *requirement))
}

/// Of images that no constraint tells apart, the best: the leanest, of the newest CUDA patch release. In
/// place.
pub(crate) fn keep_leanest(bases: &mut Vec<&Base>, criteria: &Criteria) {
    let key = |base: &Base| (has_cudnn(base), flavour(base, criteria), Reverse(base.cuda.clone()));
    let mut kept: Vec<&Base> = Vec::new();
    for base in bases.iter().copied() {
        match kept.iter_mut().find(|other| alike(other, base)) {
            Some(other) if key(base) < key(other) => *other = base,
            Some(_) => {}
            None => kept.push(base),
        }
    }
    *bases = kept;
}

/// Whether two images differ in nothing that a constraint looks at once a minor of CUDA is chosen.
fn alike(one: &Base, other: &Base) -> bool {
    let (Some(a), Some(b)) = (one.image, other.image) else { return false };
    let minor = |base: &Base| base.cuda.as_ref().map(series);
    a.repository == b.repository
        && a.system == b.system
        && a.python == b.python
        && a.torch == b.torch
        && minor(one) == minor(other)
        && one.has_nvcc() == other.has_nvcc()
}

const CUDA: &str = "nvidia/cuda";

/// Whether a repository has bare systems.
fn bare(repository: &str) -> bool {
    !repository.contains('/') && repository != "python"
}

/// The tier of a base image for a build.
pub(crate) fn tier_of(criteria: &Criteria, build: &Build, base: &Base) -> Tier {
    let repository = base.image.map(|image| image.repository);
    let same_cuda =
        base.cuda.as_ref().zip(build.cuda_version()).is_some_and(|(one, other)| series(one) == series(other));
    match repository {
        _ if !criteria.bases.is_empty() => Tier::First,
        Some(CUDA) if same_cuda && image_driver::starts(criteria, base) != Judgement::Holds => Tier::Required,
        Some(CUDA) if same_cuda => Tier::First,
        Some(name) if bare(name) => Tier::Bare,
        _ => Tier::Rest,
    }
}

/// The images that meet the required ones, or the machine.
fn requested<'u>(universe: &'u Universe, criteria: &Criteria) -> Vec<&'u Base> {
    let mut bases: Vec<&Base> = Vec::new();
    for requirement in &criteria.bases {
        match requirement {
            request::Base::Repository(repository) => {
                bases.extend(universe.bases(repository).iter().filter(|base| of_system(criteria, base)));
            }
            request::Base::Image(reference) => {
                let is = |base: &&Base| base.image.is_some_and(|image| reference.names(image));
                let all = universe.bases(&reference.repository).iter();
                bases.extend(all.filter(is).filter(|base| of_system(criteria, base)));
            }
            // The system of a machine is not chosen: it is the stated one, or unknown.
            request::Base::None => bases.extend(universe.machines().iter().filter(|machine| {
                machine.system.map(|system| system.id.as_str()) == criteria.systems.first().copied()
            })),
        }
    }
    bases
}

/// Sorts Pythons with base images, best first.
pub(crate) fn sort_environments(environments: &mut [(&Python, &Base)], criteria: &Criteria, build: &Build) {
    let ended = |day: Option<&str>| day.is_some_and(|day| day < criteria.today);
    environments.sort_by_cached_key(|(python, base)| {
        let system = base.system;
        (
            tier_of(criteria, build, base),
            (
                criteria.prefer == Prefer::Installed
                    && criteria
                        .installed
                        .get("python")
                        .is_none_or(|one| series(one) != series(&python.version)),
                ended(python.end_of_life.as_deref()),
                ended(system.and_then(|system| system.end_of_life.as_deref())),
            ),
            // A Python with wheels of torchvision and torchaudio.
            without_partner(build, python),
            // A family that everybody knows before a Python that needs no further step.
            system_rank(criteria, base).0,
            !base.provides_python(criteria.catalog, python),
            // cuDNN comes with torch.
            has_cudnn(base),
            flavour(base, criteria),
            system_rank(criteria, base),
            Reverse(python.version.clone()),
            Reverse(base.cuda.clone()),
        )
    });
}

/// Whether torchvision or torchaudio has no wheel for the Python though torch has.
fn without_partner(build: &Build, python: &Python) -> bool {
    let (vision, audio) = (&build.release.torchvision_lacks, &build.release.torchaudio_lacks);
    vision.contains(&python.text) || (build.torchaudio.is_some() && audio.contains(&python.text))
}

fn has_cudnn(base: &Base) -> bool {
    base.image.is_some_and(|image| image.has_cudnn != Some(false))
}

/// The leanest flavour that does: with nvcc where something is compiled.
fn flavour(base: &Base, criteria: &Criteria) -> u8 {
    match base.flavour {
        Flavour::Devel if criteria.uses_nvcc() => 0,
        Flavour::Base => 1,
        Flavour::Runtime => 2,
        Flavour::Devel => 3,
        // python:3.12 has compilers and many libraries that python:3.12-slim leaves out.
        Flavour::Plain
            if base
                .image
                .is_some_and(|image| image.repository == "python" && !image.tag.contains("slim")) =>
        {
            5
        }
        Flavour::Plain => 4,
    }
}

/// Ubuntu first, for which NVIDIA's images and most instructions are made; within a family the newest.
fn system_rank(criteria: &Criteria, base: &Base) -> (usize, Reverse<usize>) {
    let id = base.system.map_or("", |system| system.id.as_str());
    let family = ["ubuntu", "debian", "rockylinux", "ubi"].iter().position(|name| id.starts_with(name));
    let age = criteria.catalog.systems().all().iter().position(|system| system.id == id);
    (family.unwrap_or(usize::MAX), Reverse(age.unwrap_or(0)))
}

/// The releases of a package, best first.
pub(crate) fn releases<'u>(package: &'u Package, criteria: &Criteria) -> Vec<&'u Release> {
    let mut releases: Vec<&Release> = package.releases.iter().collect();
    if let Some(near) = criteria.near {
        releases.sort_by_cached_key(|release| {
            (near.of_package(package.name, &release.version), Reverse(release.version.clone()))
        });
        return releases;
    }
    let installed = criteria.installed.get(package.name).filter(|_| criteria.prefer == Prefer::Installed);
    if let Some(installed) = installed {
        releases.sort_by_cached_key(|release| {
            (!same(installed, &release.version), Reverse(release.version.clone()))
        });
    }
    releases
}

/// Whether two versions are one but for the build.
fn same(one: &Version, other: &Version) -> bool {
    one.release() == other.release()
}
