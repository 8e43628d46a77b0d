//! Torch builds in words.

use super::super::message::Phrase;
use super::super::universe::{Build, Universe};
use super::ranges::ranges;
use diagnostic::words::and;

/// A name of builds with the number of their releases.
pub(super) fn phrase(builds: &[&Build], text: String) -> Phrase {
    Phrase::counted(text, distinct(builds.iter().map(|build| build.release.version.as_str())).len())
}

/// `torch 2.5.0 and 2.5.1`.
pub(super) fn releases(universe: &Universe, builds: &[&Build]) -> String {
    let tags: Vec<&str> =
        builds.iter().filter_map(|build| build.image).map(|image| image.tag.as_str()).collect();
    if !tags.is_empty() {
        return format!("the torch of {}", and(&distinct(tags.into_iter())));
    }
    let all: Vec<&str> = universe.catalog.torch().all().iter().map(|row| row.version.as_str()).collect();
    format!("torch {}", ranges(&all, |one| builds.iter().any(|build| build.release.version == one)))
}

/// `torch 2.5.0 and 2.5.1 for CUDA 12.4`, `the CPU builds of torch 2.5.0 and 2.5.1`.
pub(super) fn names(universe: &Universe, builds: &[&Build]) -> String {
    let releases = releases(universe, builds);
    match &cudas(builds)[..] {
        [] => format!("the CPU {} of {releases}", if builds.len() == 1 { "build" } else { "builds" }),
        cudas => format!("{releases} for CUDA {}", and(cudas)),
    }
}

/// The CUDA releases of builds, oldest first; none of CPU builds.
pub(super) fn cudas(builds: &[&Build]) -> Vec<String> {
    let mut all: Vec<_> = builds.iter().filter_map(|build| build.cuda_version()).collect();
    all.sort();
    all.dedup();
    all.iter().map(ToString::to_string).collect()
}

/// Each text once, in the order of the first.
pub(super) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
