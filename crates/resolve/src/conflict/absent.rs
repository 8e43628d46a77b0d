//! A requirement for something that the catalog does not have: does it not exist, or is it only not known?

use pep440_rs::Version;

use super::super::constraints::requested::{self, cuda_within};
use super::super::outcome::Reason;
use super::super::request::{Base, RequirementKind, Versions};
use super::super::universe::{Universe, series};
use super::super::verdict::Partner;
use super::beyond::{newer, older};
use super::ranges::{ranges, verb};
use catalog::images::Existence;
use catalog::{packages, torch};
use diagnostic::words::and;

/// Why a requirement cannot be satisfied, if the catalog has no such version.
pub(super) fn reason(universe: &Universe, kind: &RequirementKind) -> Option<Reason> {
    let (constraint, message) = match kind {
        RequirementKind::Torch(requirement) => (requested::BUILD.id, torch(universe, requirement)?),
        RequirementKind::Cuda(requirement) => (requested::BUILD.id, cuda(universe, requirement)?),
        RequirementKind::Python(requirement) => (requested::PYTHON.id, python(universe, requirement)?),
        RequirementKind::Package(name, requirement) => {
            (requested::PACKAGE.id, package(universe, name, requirement)?)
        }
        RequirementKind::Base(Base::Image(reference)) => {
            (requested::BASE.id, image(universe, &reference.to_string())?)
        }
        RequirementKind::Base(Base::Repository(repository)) if universe.bases(repository).is_empty() => {
            (requested::BASE.id, format!("the catalog has no images of {repository}"))
        }
        RequirementKind::System(id) if universe.catalog.systems().system(id).is_none() => {
            let known: Vec<&str> =
                universe.catalog.systems().all().iter().map(|system| system.id.as_str()).collect();
            (requested::BASE.id, format!("the catalog does not know the system {id}, only {}", and(&known)))
        }
        _ => return None,
    };
    Some(Reason { constraint: constraint.to_owned(), message })
}

/// What the versions of something say of one that is not among them.
struct Known<'a> {
    /// `torch`, `CUDA`.
    name: &'a str,
    /// All versions, oldest first.
    versions: Vec<Version>,
    /// Whether all between the oldest and the newest are there.
    complete: bool,
    /// The day of the catalog.
    checked: &'a str,
}

impl Known<'_> {
    /// `None` where one of the versions is among the required ones.
    fn missing(&self, requirement: &Versions) -> Option<String> {
        if self.versions.iter().any(|version| requirement.contain(version)) {
            return None;
        }
        let (name, text, checked) = (self.name, &requirement.text, self.checked);
        let (Some(oldest), Some(newest)) = (self.versions.first(), self.versions.last()) else {
            return Some(format!("the catalog has no release of {name}"));
        };
        if older(oldest, requirement) {
            return Some(format!("the catalog of {checked} begins with {name} {oldest}"));
        }
        if newer(newest, requirement) {
            return Some(format!("the newest {name} in the catalog of {checked} is {newest}"));
        }
        let Some(requested) = requirement.named() else {
            return Some(format!("no {name} from {oldest} to {newest} is {text} (catalog of {checked})"));
        };
        let (major, minor) = series(&requested);
        let of_series: Vec<String> = self
            .versions
            .iter()
            .filter(|version| series(version) == (major, minor))
            .map(ToString::to_string)
            .collect();
        let there_is = if self.complete {
            format!("there is no {name} {text}")
        } else {
            format!("the catalog has no {name} {text}")
        };
        Some(match of_series.is_empty() {
            false => format!("{there_is}: the {major}.{minor} series has {}", ranges(&of_series, |_| true)),
            true => format!(
                "{there_is}: {} before it and {} after it",
                self.below(&requested)?,
                self.above(&requested)?
            ),
        })
    }

    fn below(&self, requested: &Version) -> Option<&Version> {
        self.versions.iter().rev().find(|version| *version < requested)
    }

    fn above(&self, requested: &Version) -> Option<&Version> {
        self.versions.iter().find(|version| *version > requested)
    }
}

fn versions<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Version> {
    let mut versions: Vec<Version> = texts.filter_map(|text| text.parse().ok()).collect();
    versions.sort();
    versions.dedup();
    versions
}

fn torch(universe: &Universe, requirement: &Versions) -> Option<String> {
    let known = Known {
        name: "torch",
        versions: versions(universe.catalog.torch().all().iter().map(|row| row.version.as_str())),
        complete: true,
        checked: universe.catalog.torch().all().last().map_or("", |row| &row.checked),
    };
    if let Some(message) = known.missing(requirement) {
        return Some(message);
    }
    let name = requirement.build.as_deref()?;
    let builds: Vec<_> = universe.builds.iter().filter(|build| requirement.contain(&build.version)).collect();
    let cpu = universe.cpu_builds.iter().filter(|build| requirement.contain(&build.version));
    if builds.iter().copied().chain(cpu).any(|build| build.build.build == name) {
        return None;
    }
    let releases: Vec<&str> = universe.catalog.torch().all().iter().map(|row| row.version.as_str()).collect();
    let requested = ranges(&releases, |one| builds.iter().any(|build| build.release.version == one));
    let mut has: Vec<&str> = builds.iter().map(|build| build.build.build.as_str()).collect();
    has.sort_unstable();
    has.dedup();
    let complete = builds.iter().all(|build| build.release.builds_complete);
    let none = if complete { "no build" } else { "no known build" };
    Some(format!("torch {requested} has {none} {name}, only {}", and(&has)))
}

fn cuda(universe: &Universe, requirement: &Versions) -> Option<String> {
    if universe.builds.iter().any(|build| cuda_within(requirement, build)) {
        return None;
    }
    let mut built: Vec<&Version> = universe.builds.iter().filter_map(|build| build.cuda_version()).collect();
    built.sort();
    built.dedup();
    let built: Vec<String> = built.iter().map(ToString::to_string).collect();
    let toolkits = Known {
        name: "CUDA",
        versions: versions(universe.catalog.cuda().all().iter().map(|row| row.toolkit.as_str())),
        complete: true,
        checked: universe.catalog.cuda().all().last().map_or("", |row| &row.checked),
    };
    let Some(missing) = toolkits.missing(requirement) else {
        return Some(format!(
            "no torch build for CUDA {} is in the catalog: there are builds for CUDA {}",
            requirement.text,
            and(&built)
        ));
    };
    // Drivers report versions of CUDA that were never released as toolkits.
    let reported = requirement.named().and_then(|requested| {
        let branch = universe.catalog.drivers().all().iter().find(|row| {
            row.cuda
                .as_deref()
                .and_then(|cuda| cuda.parse::<Version>().ok())
                .is_some_and(|cuda| cuda == requested)
        })?;
        Some(format!(
            "; nvidia-smi prints {requested} with driver branch {}, which runs programs of older CUDA \
             releases",
            branch.branch
        ))
    });
    Some(missing + reported.as_deref().unwrap_or_default())
}

fn python(universe: &Universe, requirement: &Versions) -> Option<String> {
    if universe.pythons.iter().any(|python| python.within(&requirement.specifiers)) {
        return None;
    }
    let known = Known {
        name: "Python",
        versions: universe.pythons.iter().map(|python| python.version.clone()).collect(),
        complete: true,
        checked: universe.catalog.systems().pythons().last().map_or("", |row| &row.checked),
    };
    known.missing(requirement)
}

fn package(universe: &Universe, name: &str, requirement: &Versions) -> Option<String> {
    let torch = universe.catalog.torch().all().iter();
    let of_torch =
        |version: fn(&'static torch::Release) -> Option<&'static str>| versions(torch.filter_map(version));
    let partner = Partner::of_package(name);
    let name = partner.map_or(name, |partner| partner.name());
    let partners = match partner {
        Some(Partner::Torchvision) => of_torch(|row| row.torchvision.as_deref()),
        Some(Partner::Torchaudio) => of_torch(|row| row.torchaudio.as_deref()),
        Some(Partner::Nccl) => versions(universe.catalog.nccl().all().iter().map(|row| row.version.as_str())),
        Some(Partner::Triton) | None => Vec::new(),
    };
    if !partners.is_empty() {
        let checked = universe.catalog.torch().all().last().map_or("", |row| &row.checked);
        return Known { name, versions: partners, complete: false, checked }.missing(requirement);
    }
    let Some(package) = universe.package(name) else {
        return Some(format!("the catalog does not know the package {name}"));
    };
    let mut versions: Vec<Version> = package.releases.iter().map(|release| release.version.clone()).collect();
    versions.sort();
    let catalogued = universe.catalog.package(name);
    // DeepSpeed has a table of its own.
    let checked = catalogued.map_or_else(
        || universe.catalog.deepspeed().all().last().map_or("", |row| &row.checked),
        |package| package.checked.as_str(),
    );
    let complete = catalogued.is_some_and(|package| !package.sample);
    let missing = Known { name, versions, complete, checked }.missing(requirement)?;
    let withdrawn = catalogued.and_then(|package| yanked(package, requirement)).map(|yanked| {
        format!("{name} {} {} withdrawn (yanked)", and(&yanked), verb(yanked.len(), "was", "were"))
    });
    Some(withdrawn.unwrap_or(missing))
}

fn yanked(package: &packages::Package, requirement: &Versions) -> Option<Vec<String>> {
    let rows = package.rows.iter().filter(|row| row.yanked);
    let found = versions(rows.flat_map(|row| row.releases.keys().map(String::as_str)));
    let found: Vec<String> =
        found.iter().filter(|version| requirement.contain(version)).map(ToString::to_string).collect();
    (!found.is_empty()).then_some(found)
}

fn image(universe: &Universe, reference: &str) -> Option<String> {
    match universe.catalog.images().exists(reference) {
        Existence::Yes(_) => None,
        Existence::No { why, .. } => Some(format!("there is no {reference}: {why}")),
        Existence::Unknown { why } => Some(format!("whether {reference} exists is not known: {why}")),
    }
}
