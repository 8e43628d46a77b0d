//! The build of torch that indexes decide.

use catalog::Catalog;
use catalog::torch::build_of_index;
use resolve::request::Requirement;

use super::sources::{Place, place};
use super::{Environment, build_alone, required};
use crate::declared::{Declared, Dependency, Index, IndexRole};
use crate::project::Project;

/// Whether an index or a page is one of PyTorch's, by its address.
pub fn is_of_torch(url: &str) -> bool {
    build_of_page(url).is_some() || url.contains("://download.pytorch.org/")
}

/// The build of an index, or of a page of one: `…/whl/cu121/torch/`, `…/whl/cu118/torch_stable.html`.
pub(crate) fn build_of_page(url: &str) -> Option<&str> {
    let url = url.trim_end_matches('/');
    let folder = || url.rsplit_once('/').map(|(folder, _)| folder);
    build_of_index(url).or_else(|| build_of_index(folder()?))
}

/// The build of torch that an index names; `None` of one of other files than releases.
fn build_of_release(url: &str) -> Option<&str> {
    build_of_page(url).filter(|_| !url.contains("/nightly/") && !url.contains("/test/"))
}

/// The build of torch that the indexes name, where they decide it: a source of torch does; uv takes torch
/// from the first index that has it, pip from the only one, and of two the build with a local version, if
/// both have the pinned release.
pub(super) fn of_indexes(
    catalog: &Catalog,
    project: &Project,
    environment: Environment<'_>,
    held: &[Declared<Dependency>],
) -> Option<Requirement> {
    let torch: Vec<&Declared<Dependency>> = held.iter().filter(|one| one.value.name == "torch").collect();
    if torch.iter().any(|one| one.value.local.is_some()) {
        return None;
    }
    let of_source = torch.iter().find_map(|one| match place(project, one, environment) {
        Place::Index(source) => Some(source),
        _ => None,
    });
    if let Some(source) = of_source {
        let defined = |one: &&Declared<Index>| {
            one.origin.file == source.origin.file && one.value.name == source.value.index
        };
        let index = project.indexes.iter().find(defined)?;
        return Some(required(&source.origin, build_alone(build_of_release(&index.value.url)?)));
    }
    let common =
        |one: &&Declared<Index>| !matches!(one.value.role, IndexRole::Explicit | IndexRole::Supplemental);
    let named = project.indexes.iter().filter(common);
    let named: Vec<(&Declared<Index>, &str)> =
        named.filter_map(|one| Some((one, build_of_release(&one.value.url)?))).collect();
    if let Some((index, build)) = named.iter().find(|(index, _)| index.value.role == IndexRole::First) {
        return Some(required(&index.origin, build_alone(build)));
    }
    let (index, build) = named.first()?;
    if named.iter().any(|(_, other)| other != build) {
        return None;
    }
    let decides = index.value.role == IndexRole::Default || has_build(catalog, &torch, build);
    decides.then(|| required(&index.origin, build_alone(build)))
}

/// Whether a pinned release of torch has a build.
fn has_build(catalog: &Catalog, torch: &[&Declared<Dependency>], build: &str) -> bool {
    let pins = torch.iter().map(|one| &one.value).filter(|one| one.is_pinned());
    pins.flat_map(|one| one.versions.iter()).any(|one| {
        let release = catalog.torch().release(&one.version().to_string());
        release.is_some_and(|release| {
            release.build(build).is_some() || build == catalog.torch().cpu_build() && release.cpu.is_some()
        })
    })
}
