//! A wish for something that the catalog does not have: does it not exist, or is it only not known?

use pep440_rs::Version;

use super::super::answer::Reason;
use super::super::constraints::asked_for::cuda_within;
use super::super::request::{Base, Versions, Want};
use super::super::world::{World, series};
use super::ranges::{ranges, verb};
use catalog::images::Existence;
use catalog::{packages, torch};
use diagnostic::words::and;

/// Why nothing meets a wish, where that is so because the catalog has no such thing.
pub(super) fn reason(world: &World, want: &Want) -> Option<Reason> {
    let (constraint, says) = match want {
        Want::Torch(wish) => ("torch-asked-for", torch(world, wish)?),
        Want::Cuda(wish) => ("torch-asked-for", cuda(world, wish)?),
        Want::Python(wish) => ("python-asked-for", python(world, wish)?),
        Want::Package(name, wish) => ("package-asked-for", package(world, name, wish)?),
        Want::Base(Base::Image(reference)) => ("base-asked-for", image(world, reference)?),
        Want::Base(Base::Repository(repository)) if world.bases(repository).is_empty() => {
            ("base-asked-for", format!("the catalog has no images of {repository}"))
        }
        Want::System(id) if world.catalog.systems().system(id).is_none() => {
            let known: Vec<&str> =
                world.catalog.systems().all().iter().map(|system| system.id.as_str()).collect();
            ("base-asked-for", format!("the catalog does not know the system {id}, only {}", and(&known)))
        }
        _ => return None,
    };
    Some(Reason { constraint: constraint.to_owned(), says })
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
    /// `None` where one of the versions is among the wished ones.
    fn missing(&self, wish: &Versions) -> Option<String> {
        if self.versions.iter().any(|version| wish.contain(version)) {
            return None;
        }
        let (name, text, checked) = (self.name, &wish.text, self.checked);
        let (Some(oldest), Some(newest)) = (self.versions.first(), self.versions.last()) else {
            return Some(format!("the catalog has no release of {name}"));
        };
        let Some(wished) = wish.named() else {
            return Some(format!("no {name} from {oldest} to {newest} is {text} (catalog of {checked})"));
        };
        if wished > *newest && series(&wished) != series(newest) {
            return Some(format!("the newest {name} that the catalog of {checked} knows is {newest}"));
        }
        if wished < *oldest && series(&wished) != series(oldest) {
            return Some(format!("the catalog begins with {name} {oldest}"));
        }
        let (major, minor) = series(&wished);
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
                self.below(&wished)?,
                self.above(&wished)?
            ),
        })
    }

    fn below(&self, wished: &Version) -> Option<&Version> {
        self.versions.iter().rev().find(|version| *version < wished)
    }

    fn above(&self, wished: &Version) -> Option<&Version> {
        self.versions.iter().find(|version| *version > wished)
    }
}

fn versions<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Version> {
    let mut versions: Vec<Version> = texts.filter_map(|text| text.parse().ok()).collect();
    versions.sort();
    versions.dedup();
    versions
}

fn torch(world: &World, wish: &Versions) -> Option<String> {
    let known = Known {
        name: "torch",
        versions: versions(world.catalog.torch().all().iter().map(|row| row.version.as_str())),
        complete: true,
        checked: world.catalog.torch().all().last().map_or("", |row| &row.checked),
    };
    if let Some(says) = known.missing(wish) {
        return Some(says);
    }
    let name = wish.build.as_deref()?;
    let builds: Vec<_> = world.builds.iter().filter(|build| wish.contain(&build.version)).collect();
    if builds.iter().any(|build| build.build.build == name) {
        return None;
    }
    let releases: Vec<&str> = world.catalog.torch().all().iter().map(|row| row.version.as_str()).collect();
    let wished = ranges(&releases, |one| builds.iter().any(|build| build.release.version == one));
    let mut has: Vec<&str> = builds.iter().map(|build| build.build.build.as_str()).collect();
    has.sort_unstable();
    has.dedup();
    let complete = builds.iter().all(|build| build.release.builds_complete);
    let none = if complete { "no build" } else { "no known build" };
    Some(format!("torch {wished} has {none} {name}, only {}", and(&has)))
}

fn cuda(world: &World, wish: &Versions) -> Option<String> {
    if world.builds.iter().any(|build| cuda_within(wish, build)) {
        return None;
    }
    let mut built: Vec<&Version> = world.builds.iter().map(|build| &build.cuda).collect();
    built.sort();
    built.dedup();
    let built: Vec<String> = built.iter().map(ToString::to_string).collect();
    let toolkits = Known {
        name: "CUDA",
        versions: versions(world.catalog.cuda().all().iter().map(|row| row.toolkit.as_str())),
        complete: true,
        checked: world.catalog.cuda().all().last().map_or("", |row| &row.checked),
    };
    let Some(missing) = toolkits.missing(wish) else {
        return Some(format!(
            "no torch build for CUDA {} is in the catalog: there are builds for CUDA {}",
            wish.text,
            and(&built)
        ));
    };
    // Drivers report versions of CUDA that were never released as toolkits.
    let reported = wish.named().and_then(|wished| {
        let branch = world.catalog.drivers().all().iter().find(|row| {
            row.cuda
                .as_deref()
                .and_then(|cuda| cuda.parse::<Version>().ok())
                .is_some_and(|cuda| cuda == wished)
        })?;
        Some(format!(
            "; nvidia-smi prints {wished} with driver branch {}, which runs programs of older CUDA releases",
            branch.branch
        ))
    });
    Some(missing + reported.as_deref().unwrap_or_default())
}

fn python(world: &World, wish: &Versions) -> Option<String> {
    if world.pythons.iter().any(|python| python.within(&wish.specifiers)) {
        return None;
    }
    let known = Known {
        name: "Python",
        versions: world.pythons.iter().map(|python| python.version.clone()).collect(),
        complete: true,
        checked: world.catalog.systems().pythons().last().map_or("", |row| &row.checked),
    };
    known.missing(wish)
}

fn package(world: &World, name: &str, wish: &Versions) -> Option<String> {
    let partner = |row: &'static torch::Release| match name {
        "torchvision" => row.torchvision.as_deref(),
        "torchaudio" => row.torchaudio.as_deref(),
        _ => None,
    };
    let (name, partners) = match name.contains("nccl") {
        true => ("NCCL", versions(world.catalog.nccl().all().iter().map(|row| row.version.as_str()))),
        false => (name, versions(world.catalog.torch().all().iter().filter_map(partner))),
    };
    if !partners.is_empty() {
        let checked = world.catalog.torch().all().last().map_or("", |row| &row.checked);
        return Known { name, versions: partners, complete: false, checked }.missing(wish);
    }
    let Some(package) = world.package(name) else {
        return Some(format!("the catalog does not know the package {name}"));
    };
    let mut versions: Vec<Version> = package.releases.iter().map(|release| release.version.clone()).collect();
    versions.sort();
    let catalogued = world.catalog.package(name);
    // DeepSpeed has a table of its own.
    let checked = catalogued.map_or_else(
        || world.catalog.deepspeed().all().last().map_or("", |row| &row.checked),
        |package| package.checked.as_str(),
    );
    let complete = catalogued.is_some_and(|package| !package.sample);
    let missing = Known { name, versions, complete, checked }.missing(wish)?;
    let withdrawn = catalogued.and_then(|package| yanked(package, wish)).map(|yanked| {
        format!("{name} {} {} withdrawn (yanked)", and(&yanked), verb(yanked.len(), "was", "were"))
    });
    Some(withdrawn.unwrap_or(missing))
}

fn yanked(package: &packages::Package, wish: &Versions) -> Option<Vec<String>> {
    let rows = package.rows.iter().filter(|row| row.yanked);
    let found = versions(rows.flat_map(|row| row.releases.keys().map(String::as_str)));
    let found: Vec<String> =
        found.iter().filter(|version| wish.contain(version)).map(ToString::to_string).collect();
    (!found.is_empty()).then_some(found)
}

fn image(world: &World, reference: &str) -> Option<String> {
    match world.catalog.images().exists(reference) {
        Existence::Yes(_) => None,
        Existence::No { why, .. } => Some(format!("there is no {reference}: {why}")),
        Existence::Unknown { why } => Some(format!("whether {reference} exists is not known: {why}")),
    }
}
