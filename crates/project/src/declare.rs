//! What a project requires of the resolver.

use catalog::Catalog;
use catalog::torch::build_of_index;
use pep440_rs::VersionSpecifiers;
use resolve::marker;
use resolve::parameter::{Declaration, Source};
use resolve::parse::is_package;
use resolve::request::{Requirement, RequirementKind, Versions};
use resolve::torch_layer::comes_with_torch;

use crate::declared::{Declared, DeclaredBy, Dependency, IndexRole, Origin};
use crate::error::ProjectError;
use crate::lock::{Choice, Lock, Locked};
use crate::project::Project;

mod locked;

/// Where markers are evaluated: on Linux.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'e> {
    /// `x86_64`
    pub architecture: &'e str,
    /// Minor numbers of the Pythons that come into question.
    pub pythons: &'e [u32],
}

/// The declarations of a project, sorted by who takes them.
#[derive(Debug, Default)]
pub struct Declarations {
    /// For the resolver.
    pub requirements: Vec<Requirement>,
    pub others: Others,
    /// Whether a requirement was left out because its marker holds on some of the Pythons only.
    pub depends_on_python: bool,
}

/// What the resolver does not take.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Packages that the catalog does not have, and extras of others, as pip reads them.
    pub packages: Vec<String>,
    /// How many packages come with torch: its build decides their versions.
    pub of_torch: usize,
    /// Constraints on packages that nothing requires.
    pub constraints: usize,
    /// How many requirements have hashes that no lock has.
    pub hashes: usize,
    /// How many packages a lock pins that the resolver does not take.
    pub locked: usize,
    /// Indexes that are not of torch.
    pub indexes: Vec<Origin>,
    /// Whether anything requires torch.
    pub torch: bool,
}

/// The family that is released with torch, and always part of a stack.
pub(crate) const FAMILY: &[&str] = &["torch", "torchvision", "torchaudio"];

/// Sorts the declarations of a project. Where it has a lock, that alone says which packages there are.
///
/// # Errors
///
/// A marker of the lock cannot be evaluated.
pub fn declare(
    catalog: &Catalog,
    project: &Project,
    environment: Environment<'_>,
) -> Result<Declarations, ProjectError> {
    let mut found = Declarations::default();
    let held = match &project.lock {
        Some(lock) => locked::held(project, lock, environment, &mut found.depends_on_python)?,
        None => held(project, environment, &mut found.depends_on_python),
    };
    let of_lock = project.lock.as_ref().and_then(|lock| lock.python.as_ref());
    let repeats = |python: &&Declared<_>| of_lock.is_some_and(|one| one.value == python.value);
    for python in project.python.iter().filter(|python| !repeats(python)).chain(of_lock) {
        let versions = versions(&python.value.specifiers, None, &python.value.specifiers.to_string());
        found.requirements.push(required(&python.origin, RequirementKind::Python(versions)));
    }
    let is_installed = |name: &str| {
        FAMILY.contains(&name)
            || held.iter().any(|one| one.value.kind == DeclaredBy::Main && one.value.name == name)
    };
    for one in &held {
        match one.value.kind == DeclaredBy::Constraint && !is_installed(&one.value.name) {
            true => found.others.constraints += 1,
            false if is_paired(catalog, &held, &one.value) => found.others.of_torch += 1,
            false => dependency(&mut found, one),
        }
    }
    found.requirements.extend(held.iter().find_map(of_library));
    found.others.packages.dedup();
    found.others.torch = held.iter().any(|one| one.value.name == "torch");
    match &project.lock {
        Some(lock) => {
            found.requirements.extend(locked::build(catalog, lock, &held, environment.architecture));
            found.others.locked = std::mem::take(&mut found.others.packages).len();
            found.others.indexes = locked::indexes(lock);
        }
        None => {
            found.requirements.extend(of_indexes(catalog, project, &held));
            found.others.hashes = held.iter().filter(|one| !one.value.hashes.is_empty()).count();
            let others = project.indexes.iter().filter(|one| !is_of_torch(&one.value.url));
            found.others.indexes = others.map(|one| one.origin.clone()).collect();
        }
    }
    Ok(found)
}

/// What of a project's lock is installed with one Python.
///
/// # Errors
///
/// A marker of the lock cannot be evaluated.
pub fn locked<'p>(
    project: &Project,
    lock: &'p Lock,
    python: u32,
    architecture: &str,
) -> Result<Vec<&'p Locked>, ProjectError> {
    let declared = locked::names(project);
    lock.selected(Choice { python, architecture, extras: &[], groups: &[], declared: &declared })
}

/// Whether torchvision or torchaudio is pinned to the release that belongs to the pinned torch: it requires
/// nothing more, and changes with torch.
fn is_paired(catalog: &Catalog, held: &[Declared<Dependency>], one: &Dependency) -> bool {
    let torches = held.iter().filter(|other| other.value.name == "torch" && other.value.is_pinned());
    let versions = torches.flat_map(|torch| torch.value.versions.iter().map(|one| one.version().to_string()));
    let partner = |version: String| {
        let release = catalog.torch().release(&version)?;
        match one.name.as_str() {
            "torchvision" => release.torchvision.as_ref()?.parse().ok(),
            "torchaudio" => release.torchaudio.as_ref()?.parse().ok(),
            _ => None,
        }
    };
    let mut partners = versions.filter_map(partner);
    one.is_pinned() && one.local.is_none() && partners.any(|partner| one.versions.contains(&partner))
}

/// The CUDA of a pinned library of torch's build: 12.1 of `nvidia-cuda-runtime-cu12==12.1.105`.
fn of_library(one: &Declared<Dependency>) -> Option<Requirement> {
    let library = one.value.name.strip_prefix("nvidia-")?.strip_suffix("-cu12")?;
    let [pin] = &one.value.versions[..] else { return None };
    // The other libraries have versions of their own.
    let of_cuda = ["cublas", "cuda-cupti", "cuda-nvrtc", "cuda-runtime"].contains(&library);
    let [major, minor, ..] = pin.version().release() else { return None };
    if !of_cuda || !one.value.is_pinned() || *major != 12 {
        return None;
    }
    let versions: Versions = format!("{major}.{minor}").parse().ok()?;
    Some(required(&one.origin, RequirementKind::Cuda(versions)))
}

/// The requirements whose markers hold.
fn held(
    project: &Project,
    environment: Environment<'_>,
    depends_on_python: &mut bool,
) -> Vec<Declared<Dependency>> {
    let mut held = Vec::new();
    for dependency in &project.dependencies {
        let Environment { architecture, pythons } = environment;
        let marker = dependency.value.marker.as_deref();
        let holds = |marker| marker::holds_with_all(marker, pythons.iter().copied(), architecture);
        match marker.map_or(Some(true), holds) {
            Some(true) => held.push(dependency.clone()),
            Some(false) => {}
            // pip evaluates the markers of what it alone takes.
            None if is_package(&dependency.value.name) => *depends_on_python = true,
            None => held.push(dependency.clone()),
        }
    }
    held
}

fn dependency(found: &mut Declarations, one: &Declared<Dependency>) {
    let Declared { value, origin } = one;
    if comes_with_torch(&value.name) {
        found.others.of_torch += 1;
        return;
    }
    if !is_package(&value.name) {
        found.others.packages.push(for_pip(value, &value.specifier()));
        return;
    }
    let versions = versions(&value.versions, value.local.clone(), &value.specifier());
    let build = versions.build.clone().filter(|_| value.name != "torch");
    let kind = match value.name.as_str() {
        "torch" => RequirementKind::Torch(versions),
        name => RequirementKind::Package(name.to_owned(), Versions { build: None, ..versions }),
    };
    found.requirements.push(required(origin, kind));
    // torchvision 0.19.1+cu121 is compiled for that build of torch.
    if let Some(build) = build.filter(|_| FAMILY.contains(&value.name.as_str())) {
        found.requirements.push(required(origin, build_alone(&build)));
    }
    if !value.extras.is_empty() && value.kind == DeclaredBy::Main {
        found.others.packages.push(for_pip(value, ""));
    }
}

/// A requirement as pip reads it.
fn for_pip(value: &Dependency, specifier: &str) -> String {
    let extras = match value.extras.is_empty() {
        true => String::new(),
        false => format!("[{}]", value.extras.join(",")),
    };
    let marker = value.marker.as_ref().map_or(String::new(), |marker| format!(" ; {marker}"));
    format!("{}{extras}{specifier}{marker}", value.name)
}

fn required(origin: &Origin, kind: RequirementKind) -> Requirement {
    let Origin { file, line, text, .. } = origin.clone();
    Requirement { source: Source::Declared(Declaration { file, line, text }), kind }
}

fn versions(specifiers: &VersionSpecifiers, build: Option<String>, text: &str) -> Versions {
    Versions { text: text.to_owned(), specifiers: specifiers.clone(), build }
}

fn build_alone(build: &str) -> RequirementKind {
    RequirementKind::Torch(Versions {
        text: build.to_owned(),
        build: Some(build.to_owned()),
        ..Versions::any()
    })
}

/// Whether an index or a page is one of PyTorch's, by its address.
fn is_of_torch(url: &str) -> bool {
    build_of_page(url).is_some() || url.contains("://download.pytorch.org/")
}

/// The build of an index, or of a page of one: `…/whl/cu121/torch/`, `…/whl/cu118/torch_stable.html`.
pub(crate) fn build_of_page(url: &str) -> Option<&str> {
    let url = url.trim_end_matches('/');
    let folder = || url.rsplit_once('/').map(|(folder, _)| folder);
    build_of_index(url).or_else(|| build_of_index(folder()?))
}

/// The build of torch that the indexes name, where they decide it: pip takes torch from the only index, and
/// of two indexes the build with a local version, if both have the pinned release.
fn of_indexes(catalog: &Catalog, project: &Project, held: &[Declared<Dependency>]) -> Option<Requirement> {
    let torch: Vec<&Dependency> =
        held.iter().map(|one| &one.value).filter(|one| one.name == "torch").collect();
    if torch.iter().any(|one| one.local.is_some()) {
        return None;
    }
    let is_release = |url: &str| !url.contains("/nightly/") && !url.contains("/test/");
    let named = project.indexes.iter().filter(|one| is_release(&one.value.url));
    let named: Vec<(&Declared<_>, &str)> =
        named.filter_map(|one| Some((one, build_of_page(&one.value.url)?))).collect();
    let (index, build) = named.first()?;
    if named.iter().any(|(_, other)| other != build) {
        return None;
    }
    let has_build = || {
        torch.iter().filter(|one| one.is_pinned()).flat_map(|one| one.versions.iter()).any(|one| {
            let release = catalog.torch().release(&one.version().to_string());
            release.is_some_and(|release| {
                release.build(build).is_some()
                    || *build == catalog.torch().cpu_build() && release.cpu.is_some()
            })
        })
    };
    let decides = index.value.role == IndexRole::Default || has_build();
    decides.then(|| required(&index.origin, build_alone(build)))
}

#[cfg(test)]
mod tests;
