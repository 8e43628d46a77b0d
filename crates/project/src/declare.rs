//! What a project requires of the resolver.

mod indexes;
mod locked;
mod sources;

use catalog::Catalog;
use pep440_rs::VersionSpecifiers;
use resolve::marker;
use resolve::parameter::{Declaration, Source};
use resolve::parse::is_package;
use resolve::request::{Requirement, RequirementKind, Versions};
use resolve::torch_layer::comes_with_torch;

use crate::declared::{Declared, DeclaredBy, Dependency, Origin};
use crate::error::ProjectError;
use crate::not_read::Reason;
use crate::project::Project;
pub(crate) use indexes::build_of_page;
pub use indexes::is_of_torch;
use indexes::of_indexes;
pub use locked::selected;
use sources::{Place, place};

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
    /// Packages that a lock has from elsewhere than an index, with their names: they are not installed.
    pub elsewhere: Vec<(Origin, Reason)>,
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
        Some(lock) => {
            let held = locked::held(project, lock, environment)?;
            found.depends_on_python = held.depends_on_python;
            found.others.elsewhere = held.elsewhere;
            found.requirements.extend(held.python);
            held.dependencies
        }
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
            || held.iter().any(|one| one.value.kind != DeclaredBy::Constraint && one.value.name == name)
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
    let is_torch = |one: &Declared<Dependency>| one.value.name == "torch";
    found.others.torch = held.iter().chain(&project.dependencies).any(is_torch);
    match &project.lock {
        Some(lock) => {
            found.requirements.extend(locked::build(catalog, lock, &held, environment.architecture));
            found.others.locked = std::mem::take(&mut found.others.packages).len();
            found.others.indexes = locked::indexes(lock);
        }
        None => {
            found.requirements.extend(of_indexes(catalog, project, environment, &held));
            found.others.hashes = held.iter().filter(|one| !one.value.hashes.is_empty()).count();
            let others = project.indexes.iter().filter(|one| !is_of_torch(&one.value.url));
            found.others.indexes = others.map(|one| one.origin.clone()).collect();
        }
    }
    Ok(found)
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
        let extras: Vec<&str> = project.extras.iter().map(String::as_str).collect();
        let holds = |marker| marker::holds_with_all(marker, pythons.iter().copied(), architecture, &extras);
        match marker.map_or(Some(true), holds) {
            Some(true) => match place(project, dependency, environment) {
                Place::Elsewhere => {}
                Place::Undecided => *depends_on_python = true,
                Place::Any | Place::Index(_) => held.push(dependency.clone()),
            },
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
    if !value.extras.is_empty() && value.kind != DeclaredBy::Constraint {
        found.others.packages.push(for_pip(value, ""));
    }
}

/// A requirement as pip reads it.
fn for_pip(value: &Dependency, specifier: &str) -> String {
    let extras = match value.extras.is_empty() {
        true => String::new(),
        false => format!("[{}]", value.extras.join(",")),
    };
    // pip knows no extras of the project; the marker was evaluated with them.
    let marker = value.marker.as_ref().filter(|marker| !marker.contains("extra"));
    let marker = marker.map_or(String::new(), |marker| format!(" ; {marker}"));
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

#[cfg(test)]
mod tests;
