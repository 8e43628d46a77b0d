//! The version nearest to the required one with which all other requirements hold.

use pep440_rs::Version;

use super::super::request::{Requirement, RequirementKind, Versions};
use super::super::search::Choice;
use super::super::universe::{Build, Cuda, Universe, series};
use super::super::verdict::Tolerance;
use super::core::Searcher;
use super::relaxed::{Cost, Relaxed};
use crate::near::touches;
use crate::parameter::{Parameter, Source};
use crate::parse::package_name;
use catalog::torch;

/// Major and minor number.
type Series = (u64, u64);

/// A part of a stack whose version is required.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Torch,
    Cuda,
    Python,
    Package(&'a str),
}

impl<'a> Part<'a> {
    /// The part that a requirement is about, and the versions that it allows.
    pub(super) fn of(kind: &'a RequirementKind) -> Option<(Part<'a>, &'a Versions)> {
        match kind {
            RequirementKind::Torch(versions) => Some((Part::Torch, versions)),
            RequirementKind::Cuda(versions) => Some((Part::Cuda, versions)),
            RequirementKind::Python(versions) => Some((Part::Python, versions)),
            RequirementKind::Package(name, versions) => Some((Part::Package(name), versions)),
            _ => None,
        }
    }

    fn name(self) -> &'a str {
        match self {
            Part::Torch => "torch",
            Part::Cuda => "CUDA",
            Part::Python => "Python",
            Part::Package(name) => name,
        }
    }

    /// The option for a version of it, in place of one that came from `before`; of a pin in a file, the line
    /// with that version.
    fn option(self, version: &str, before: &Source) -> Source {
        // An index, or a package of the same build, names only the build.
        let pins = |text: &str| matches!(self, Part::Python) || package_name(text) == self.name();
        if let Source::Declared(declaration) = before
            && pins(&declaration.text)
            && let Some(other) = declaration.with_version(version)
        {
            return Source::Declared(other);
        }
        let with = before.parameter() == Some(Parameter::With);
        let (parameter, value) = match self {
            Part::Torch => (Parameter::Torch, version.to_owned()),
            Part::Cuda => (Parameter::Cuda, version.to_owned()),
            Part::Python => (Parameter::Python, version.to_owned()),
            Part::Package("deepspeed") if !with => (Parameter::DeepSpeed, version.to_owned()),
            Part::Package(name) => (Parameter::With, format!("{name}=={version}")),
        };
        Source::option(parameter, value)
    }

    fn kind(self, versions: Versions) -> RequirementKind {
        match self {
            Part::Torch => RequirementKind::Torch(versions),
            Part::Cuda => RequirementKind::Cuda(versions),
            Part::Python => RequirementKind::Python(versions),
            Part::Package(name) => RequirementKind::Package(name.to_owned(), versions),
        }
    }

    /// Its version in a stack.
    fn in_choice(self, choice: &Choice) -> Option<String> {
        let release = choice.environment.build.release;
        match self {
            Part::Torch => Some(release.version.clone()),
            Part::Cuda => choice.environment.build.cuda().map(Cuda::text),
            Part::Python => Some(choice.environment.python.text.clone()),
            Part::Package("torchvision") => release.torchvision.clone(),
            Part::Package("torchaudio") => {
                release.torchaudio_of(&choice.environment.build.build.build).cloned()
            }
            Part::Package(name) => choice.package(name).map(|release| release.text.clone()),
        }
    }

    /// All series that the catalog has of it, oldest first.
    fn series(self, universe: &Universe) -> Vec<Series> {
        let partner = |of: fn(&torch::Release) -> Option<&String>| {
            universe
                .catalog
                .torch()
                .all()
                .iter()
                .filter_map(of)
                .filter_map(|text| text.parse().ok())
                .map(|one| series(&one))
                .collect()
        };
        let mut all: Vec<Series> = match self {
            Part::Torch => universe.builds.iter().map(|build| series(&build.version)).collect(),
            Part::Cuda => universe.builds.iter().filter_map(Build::cuda_version).map(series).collect(),
            Part::Python => universe.pythons.iter().map(|python| series(&python.version)).collect(),
            Part::Package("torchvision") => partner(|release| release.torchvision.as_ref()),
            Part::Package("torchaudio") => partner(|release| release.torchaudio.as_ref()),
            Part::Package(name) => universe.package(name).map_or(Vec::new(), |package| {
                package.releases.iter().map(|one| series(&one.version)).collect()
            }),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The series of a part around a requirement: those that it touches, and outwards on both sides those that it
/// does not.
struct Around {
    within: Vec<Series>,
    above: Vec<Series>,
    below: Vec<Series>,
}

impl Around {
    fn of(part: Part, requirement: &Versions, universe: &Universe) -> Around {
        let all = part.series(universe);
        let touched = |one: &Series| touches(requirement, one, &Version::new([one.0, one.1]), series);
        let within: Vec<Series> = all.iter().copied().filter(touched).collect();
        let named = requirement.specifiers.iter().map(|one| series(one.version()));
        let lowest = named.min().unwrap_or((0, 0));
        let first = within.first().copied().unwrap_or(lowest);
        let last = within.last().copied().unwrap_or(lowest);
        let above = all.iter().copied().filter(|one| *one > last).collect();
        let below = all.iter().rev().copied().filter(|one| *one < first).collect();
        Around { within, above, below }
    }
}

/// What to require of a part instead, so that the others hold: the nearest version, or
/// one on each side.
pub(super) fn relax(
    searcher: &mut Searcher,
    (part, requirement, source): (Part, &Versions, &Source),
    others: &[Requirement],
    both_sides: bool,
) -> Vec<Relaxed> {
    let mut found = Vec::new();
    if requirement.build.is_some() && !requirement.specifiers.is_empty() {
        found.extend(other_build(searcher, (part, requirement, source), others));
    }
    let any = Versions { build: requirement.build.clone(), ..Versions::any() };
    let mut with_any = others.to_vec();
    with_any.push(Requirement { source: Source::Trial, kind: part.kind(any) });
    let Some((_, tolerance)) = searcher.any(&with_any) else { return found };
    let around = Around::of(part, requirement, searcher.universe);
    let mut candidates: Vec<(usize, Series)> = Vec::new();
    let look = |searcher: &mut Searcher, side: &[Series], steps: usize| {
        let index = first(searcher, (part, requirement), others, tolerance, side)?;
        Some((if steps == 0 { 0 } else { index + steps }, side[index]))
    };
    candidates.extend(look(searcher, &around.within, 0));
    if candidates.is_empty() || both_sides {
        candidates.extend(look(searcher, &around.above, 1));
        candidates.extend(look(searcher, &around.below, 1));
    }
    // Stable: of two as far away the newer one.
    candidates.sort_by_key(|(steps, _)| *steps);
    candidates.truncate(if both_sides { 2 } else { 1 });
    let finish = |(steps, series)| exact(searcher, (part, requirement, source), others, series, steps);
    found.extend(candidates.into_iter().filter_map(finish));
    found
}

/// The index of the first series of a side with which the others hold, by halving: more series never hold
/// less.
fn first(
    searcher: &mut Searcher,
    (part, requirement): (Part, &Versions),
    others: &[Requirement],
    tolerance: Tolerance,
    side: &[Series],
) -> Option<usize> {
    let mut holds = |count: usize| {
        let mut requirements = others.to_vec();
        requirements.extend(range(part, requirement, &side[..count]));
        searcher.hold_within(&requirements, tolerance)
    };
    if side.is_empty() || !holds(side.len()) {
        return None;
    }
    let (mut low, mut high) = (1, side.len());
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low - 1)
}

/// A requirement for some series that follow each other.
fn range(part: Part, requirement: &Versions, series: &[Series]) -> Option<Requirement> {
    let (low, high) = (series.iter().min()?, series.iter().max()?);
    let text = format!(">={}.{},<{}.{}", low.0, low.1, high.0, high.1 + 1);
    let mut versions: Versions = text.parse().ok()?;
    versions.build.clone_from(&requirement.build);
    Some(Requirement { source: Source::Trial, kind: part.kind(versions) })
}

/// The same version in another build.
fn other_build(
    searcher: &mut Searcher,
    (part, requirement, _): (Part, &Versions, &Source),
    others: &[Requirement],
) -> Option<Relaxed> {
    let mut requirements = others.to_vec();
    let any_build = Versions { build: None, ..requirement.clone() };
    requirements.push(Requirement { source: Source::Trial, kind: part.kind(any_build) });
    let (choice, tolerance) = searcher.any(&requirements)?;
    let version =
        format!("{}+{}", choice.environment.build.release.version, choice.environment.build.build.build);
    let new_source = part.option(&version, &Source::Trial);
    Some(Relaxed {
        replacement: Some(Requirement { source: new_source.clone(), kind: part.kind(version.parse().ok()?) }),
        change: format!("{} {version} instead of {}", part.name(), bare(&requirement.text)),
        option: Some(new_source.to_string()),
        cost: Cost { weight: 0, tolerance, steps: 1 },
    })
}

/// The best of a series, written out.
fn exact(
    searcher: &mut Searcher,
    (part, requirement, source): (Part, &Versions, &Source),
    others: &[Requirement],
    series: Series,
    steps: usize,
) -> Option<Relaxed> {
    let mut requirements = others.to_vec();
    requirements.extend(range(part, requirement, &[series]));
    // Of a package the newest of the series, of torch, CUDA and Python it is that anyway.
    let found =
        if let Part::Package(_) = part { searcher.best(&requirements) } else { searcher.any(&requirements) };
    let (choice, tolerance) = found?;
    let mut version = part.in_choice(&choice)?;
    if let Some(build) = &requirement.build {
        version = format!("{version}+{build}");
    }
    let new_source = part.option(&version, source);
    let major = requirement.specifiers.first().is_none_or(|one| self::major(one.version()) != series.0);
    Some(Relaxed {
        replacement: Some(Requirement { source: new_source.clone(), kind: part.kind(version.parse().ok()?) }),
        change: format!("{} {version} instead of {}", part.name(), bare(&requirement.text)),
        option: Some(new_source.to_string()),
        cost: Cost {
            weight: if steps == 0 {
                0
            } else if major {
                2
            } else {
                1
            },
            tolerance,
            steps,
        },
    })
}

fn major(version: &Version) -> u64 {
    series(version).0
}

/// `==2.4.1` as it is spoken.
fn bare(text: &str) -> &str {
    text.trim_start_matches('=').trim()
}
