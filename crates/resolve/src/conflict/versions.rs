//! The version nearest to a wished one with which all other wishes hold.

use pep440_rs::Version;

use super::super::request::{Versions, Want, Wish};
use super::super::search::Choice;
use super::super::verdict::Tolerance;
use super::super::world::{World, series};
use super::core::Searcher;
use super::nearest::{Cost, Relaxed};
use crate::parameter::{Parameter, Source};
use catalog::torch;

/// Major and minor number.
type Series = (u64, u64);

/// A part of a stack that is wished by version.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Torch,
    Cuda,
    Python,
    Package(&'a str),
}

impl<'a> Part<'a> {
    /// The part that a wish is about, and what is wished of it.
    pub fn of(want: &'a Want) -> Option<(Part<'a>, &'a Versions)> {
        match want {
            Want::Torch(versions) => Some((Part::Torch, versions)),
            Want::Cuda(versions) => Some((Part::Cuda, versions)),
            Want::Python(versions) => Some((Part::Python, versions)),
            Want::Package(name, versions) => Some((Part::Package(name), versions)),
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

    /// The option for a version of it, in place of one that came from `before`.
    fn option(self, version: &str, before: &Source) -> Source {
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

    fn want(self, versions: Versions) -> Want {
        match self {
            Part::Torch => Want::Torch(versions),
            Part::Cuda => Want::Cuda(versions),
            Part::Python => Want::Python(versions),
            Part::Package(name) => Want::Package(name.to_owned(), versions),
        }
    }

    /// Its version in a stack.
    fn in_choice(self, choice: &Choice) -> Option<String> {
        let release = choice.place.build.release;
        match self {
            Part::Torch => Some(release.version.clone()),
            Part::Cuda => Some(choice.place.build.cuda_text()),
            Part::Python => Some(choice.place.python.text.clone()),
            Part::Package("torchvision") => release.torchvision.clone(),
            Part::Package("torchaudio") => release.torchaudio_of(&choice.place.build.build.build).cloned(),
            Part::Package(name) => choice.package(name).map(|release| release.text.clone()),
        }
    }

    /// All series that the catalog has of it, oldest first.
    fn series(self, world: &World) -> Vec<Series> {
        let partner = |of: fn(&torch::Release) -> Option<&String>| {
            world
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
            Part::Torch => world.builds.iter().map(|build| series(&build.version)).collect(),
            Part::Cuda => world.builds.iter().map(|build| series(&build.cuda)).collect(),
            Part::Python => world.pythons.iter().map(|python| series(&python.version)).collect(),
            Part::Package("torchvision") => partner(|release| release.torchvision.as_ref()),
            Part::Package("torchaudio") => partner(|release| release.torchaudio.as_ref()),
            Part::Package(name) => world.package(name).map_or(Vec::new(), |package| {
                package.releases.iter().map(|one| series(&one.version)).collect()
            }),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The series of a part around a wish: those that it touches, and outwards on both sides those that it does
/// not.
struct Around {
    within: Vec<Series>,
    above: Vec<Series>,
    below: Vec<Series>,
}

impl Around {
    fn of(part: Part, wish: &Versions, world: &World) -> Around {
        let all = part.series(world);
        let all_named = || wish.specifiers.iter().map(|one| series(one.version()));
        let lowest = all_named().min().unwrap_or((0, 0));
        let highest = all_named().max().unwrap_or((u64::MAX, 0));
        // A series whose releases are named counts as touched though it has no such release; 12.4 of `<12.4`
        // is outside.
        use pep440_rs::Operator::{GreaterThan, LessThan, NotEqual, NotEqualStar};
        let outside = |operator: &pep440_rs::Operator| {
            [GreaterThan, LessThan, NotEqual, NotEqualStar].contains(operator)
        };
        let inside = wish.specifiers.iter().filter(|one| !outside(one.operator()));
        let named: Vec<Series> = inside.map(|one| series(one.version())).collect();
        let touched = |one: &Series| {
            named.contains(one)
                || lowest < *one && *one < highest
                || wish.contain(&Version::new([one.0, one.1]))
        };
        let within: Vec<Series> = all.iter().copied().filter(touched).collect();
        let first = within.first().copied().unwrap_or(lowest);
        let last = within.last().copied().unwrap_or(lowest);
        let above = all.iter().copied().filter(|one| *one > last).collect();
        let below = all.iter().rev().copied().filter(|one| *one < first).collect();
        Around { within, above, below }
    }
}

/// What to wish of a part instead of a wish, so that the others hold: the nearest version, or one on each
/// side.
pub(super) fn relax(
    searcher: &mut Searcher,
    (part, wish, source): (Part, &Versions, &Source),
    others: &[Wish],
    both_sides: bool,
) -> Vec<Relaxed> {
    let mut found = Vec::new();
    if wish.build.is_some() && !wish.specifiers.is_empty() {
        found.extend(other_build(searcher, (part, wish, source), others));
    }
    let any = Versions { build: wish.build.clone(), ..Versions::any() };
    let mut with_any = others.to_vec();
    with_any.push(Wish { source: Source::Trial, want: part.want(any) });
    let Some((_, tolerance)) = searcher.any(&with_any) else { return found };
    let around = Around::of(part, wish, searcher.world);
    let mut candidates: Vec<(usize, Series)> = Vec::new();
    let look = |searcher: &mut Searcher, side: &[Series], steps: usize| {
        let place = first(searcher, (part, wish), others, tolerance, side)?;
        Some((if steps == 0 { 0 } else { place + steps }, side[place]))
    };
    candidates.extend(look(searcher, &around.within, 0));
    if candidates.is_empty() || both_sides {
        candidates.extend(look(searcher, &around.above, 1));
        candidates.extend(look(searcher, &around.below, 1));
    }
    // Stable: of two as far away the newer one.
    candidates.sort_by_key(|(steps, _)| *steps);
    candidates.truncate(if both_sides { 2 } else { 1 });
    let finish = |(steps, series)| exact(searcher, (part, wish, source), others, series, steps);
    found.extend(candidates.into_iter().filter_map(finish));
    found
}

/// The place of the first series of a side with which the others hold, by halving: more series never hold
/// less.
fn first(
    searcher: &mut Searcher,
    (part, wish): (Part, &Versions),
    others: &[Wish],
    tolerance: Tolerance,
    side: &[Series],
) -> Option<usize> {
    let mut holds = |count: usize| {
        let mut wishes = others.to_vec();
        wishes.extend(range(part, wish, &side[..count]));
        searcher.hold_within(&wishes, tolerance)
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

/// A wish for some series that follow each other.
fn range(part: Part, wish: &Versions, series: &[Series]) -> Option<Wish> {
    let (low, high) = (series.iter().min()?, series.iter().max()?);
    let text = format!(">={}.{},<{}.{}", low.0, low.1, high.0, high.1 + 1);
    let mut versions: Versions = text.parse().ok()?;
    versions.build.clone_from(&wish.build);
    Some(Wish { source: Source::Trial, want: part.want(versions) })
}

/// The same version in another build.
fn other_build(
    searcher: &mut Searcher,
    (part, wish, _): (Part, &Versions, &Source),
    others: &[Wish],
) -> Option<Relaxed> {
    let mut wishes = others.to_vec();
    let any_build = Versions { build: None, ..wish.clone() };
    wishes.push(Wish { source: Source::Trial, want: part.want(any_build) });
    let (choice, tolerance) = searcher.any(&wishes)?;
    let version = format!("{}+{}", choice.place.build.release.version, choice.place.build.build.build);
    let instead = part.option(&version, &Source::Trial);
    Some(Relaxed {
        replacement: Some(Wish { source: instead.clone(), want: part.want(version.parse().ok()?) }),
        change: format!("{} {version} instead of {}", part.name(), bare(&wish.text)),
        instead: Some(instead.to_string()),
        cost: Cost { weight: 0, tolerance, steps: 1 },
    })
}

/// The best of a series, written out.
fn exact(
    searcher: &mut Searcher,
    (part, wish, source): (Part, &Versions, &Source),
    others: &[Wish],
    series: Series,
    steps: usize,
) -> Option<Relaxed> {
    let mut wishes = others.to_vec();
    wishes.extend(range(part, wish, &[series]));
    // Of a package the newest of the series, of torch, CUDA and Python it is that anyway.
    let found = if let Part::Package(_) = part { searcher.best(&wishes) } else { searcher.any(&wishes) };
    let (choice, tolerance) = found?;
    let mut version = part.in_choice(&choice)?;
    if let Some(build) = &wish.build {
        version = format!("{version}+{build}");
    }
    let instead = part.option(&version, source);
    let major = wish.specifiers.first().is_none_or(|one| self::major(one.version()) != series.0);
    Some(Relaxed {
        replacement: Some(Wish { source: instead.clone(), want: part.want(version.parse().ok()?) }),
        change: format!("{} {version} instead of {}", part.name(), bare(&wish.text)),
        instead: Some(instead.to_string()),
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
