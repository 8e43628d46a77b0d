//! The packages of a lock as declarations.

use std::collections::BTreeMap;

use catalog::Catalog;
use pep440_rs::{VersionSpecifier, VersionSpecifiers};
use resolve::parse::{is_package, package_name};
use resolve::request::{Requirement, RequirementKind, Versions};
use resolve::torch_layer::comes_with_torch;

use super::{Environment, build_alone, build_of_page, is_of_torch, of_library, required};
use crate::declared::{Declared, DeclaredBy, Dependency, Origin};
use crate::error::ProjectError;
use crate::lock::{Edge, Lock, Locked, LockedSource, Target};
use crate::not_read::Reason;
use crate::project::Project;

/// What a lock pins on some Pythons.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What holds with each of them.
    pub(super) dependencies: Vec<Declared<Dependency>>,
    /// What is required and comes from elsewhere than an index: where, with its name, and from where.
    pub(super) elsewhere: Vec<(Origin, Reason)>,
    /// That it is one of those that the lock was made for, where it was not made for all.
    pub(super) python: Option<Requirement>,
    /// Whether another one would have another version of a package that the resolver takes.
    pub(super) depends_on_python: bool,
}

/// The pins of a lock.
pub(super) fn held(
    project: &Project,
    lock: &Lock,
    environment: Environment<'_>,
) -> Result<Held, ProjectError> {
    let Environment { architecture, pythons } = environment;
    let (mut sets, mut unsupported) = (Vec::new(), Vec::new());
    for python in pythons {
        match lock.supports(*python, architecture)? {
            true => sets.push(selected(project, lock, *python, architecture)?),
            false => unsupported.push(*python),
        }
    }
    let Some((first, others)) = sets.split_first() else {
        let (file, architecture) = (lock.file.clone(), architecture.to_owned());
        let none = ProjectError::LockUnsupported { file, architecture };
        return if pythons.is_empty() { Ok(Held::default()) } else { Err(none) };
    };
    let (same, differing): (Vec<&Locked>, Vec<&Locked>) =
        first.iter().partition(|one| others.iter().all(|other| other.contains(one)));
    let checked = |one: &&Locked| is_package(&one.name) || comes_with_torch(&one.name);
    let in_others = others.iter().flatten().filter(|one| !first.contains(one));
    Ok(Held {
        depends_on_python: differing.iter().chain(in_others).any(checked),
        dependencies: same.iter().filter_map(|one| dependency(lock, one)).collect(),
        elsewhere: elsewhere(lock, sets.iter().flatten()),
        python: python(lock, &unsupported),
    })
}

/// What of a project's lock is installed with one Python.
///
/// # Errors
///
/// A marker of the lock cannot be evaluated.
pub fn selected<'l>(
    project: &Project,
    lock: &'l Lock,
    python: u32,
    architecture: &str,
) -> Result<Vec<&'l Locked>, ProjectError> {
    let own = project.dependencies.iter().map(|one| &one.value);
    let edge = |one: &Dependency| Edge {
        name: one.name.clone(),
        extras: one.extras.iter().map(|extra| package_name(extra)).collect(),
        marker: one.marker.clone(),
        versions: one.versions.clone(),
        ..Edge::default()
    };
    let declared: Vec<Edge> =
        own.filter(|one| one.kind == DeclaredBy::Main && lock.needs_declared()).map(edge).collect();
    let (extras, groups) = (&project.extras[..], &project.groups[..]);
    lock.selected(Target { python, architecture, extras, groups, declared: &declared })
}

/// A requirement on other Pythons than those that a lock was not made for.
fn python(lock: &Lock, unsupported: &[u32]) -> Option<Requirement> {
    let others: Vec<String> = unsupported.iter().map(|python| format!("!=3.{python}.*")).collect();
    let text = Some(others.join(",")).filter(|text| !text.is_empty())?;
    let specifiers = text.parse().ok()?;
    let shown = "the environments that it was made for".to_owned();
    let origin = Origin { file: lock.file.clone(), line: 1, text: shown, ..Origin::default() };
    Some(required(&origin, RequirementKind::Python(Versions { text, specifiers, build: None })))
}

fn elsewhere<'l>(lock: &Lock, selected: impl Iterator<Item = &'l &'l Locked>) -> Vec<(Origin, Reason)> {
    let mut found = Vec::new();
    for one in selected {
        let LockedSource::Elsewhere(reason) = &one.source else { continue };
        let (file, line, text) = (lock.file.clone(), one.line, one.name.clone());
        let entry = (Origin { file, line, text, ..Origin::default() }, reason.clone());
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

fn dependency(lock: &Lock, one: &Locked) -> Option<Declared<Dependency>> {
    let version = one.version.as_ref().filter(|_| matches!(one.source, LockedSource::Index(_)))?;
    let local: Vec<String> = version.local().iter().map(ToString::to_string).collect();
    let dependency = Dependency {
        name: one.name.clone(),
        extras: Vec::new(),
        versions: VersionSpecifiers::from(VersionSpecifier::equals_version(version.clone().without_local())),
        local: (!local.is_empty()).then(|| local.join(".")),
        marker: None,
        hashes: one.hashes.clone(),
        kind: DeclaredBy::Main,
    };
    let text = format!("{}=={version}", one.name);
    Some(Declared {
        value: dependency,
        origin: Origin { file: lock.file.clone(), line: one.line, span: None, text, ..Origin::default() },
    })
}

/// The build of the locked torch, where its version does not name it: that of its index, or the one that PyPI
/// has for the processor. The libraries of CUDA in the lock say it too.
pub(super) fn build(
    catalog: &Catalog,
    lock: &Lock,
    held: &[Declared<Dependency>],
    architecture: &str,
) -> Option<Requirement> {
    let torch = held.iter().find(|one| one.value.name == "torch" && one.value.local.is_none())?;
    let source =
        &lock.packages.iter().find(|one| one.name == "torch" && one.line == torch.origin.line)?.source;
    let build = match source {
        LockedSource::Index(Some(url)) if is_of_torch(url) => build_of_page(url)?.to_owned(),
        _ if held.iter().any(|one| of_library(one).is_some()) => return None,
        _ => {
            let version = torch.value.versions.first()?.version().to_string();
            let release = catalog.torch().release(&version)?;
            match architecture {
                "aarch64" => release.aarch64_build.clone()?,
                _ => release.pypi_build.clone()?,
            }
        }
    };
    Some(required(&torch.origin, build_alone(&build)))
}

/// The indexes that packages of a lock come from, without torch's and without the one that most come from,
/// each with the first package of it.
pub(super) fn indexes(lock: &Lock) -> Vec<Origin> {
    let mut found: BTreeMap<&str, (usize, &Locked)> = BTreeMap::new();
    for one in &lock.packages {
        if let LockedSource::Index(Some(url)) = &one.source
            && !is_of_torch(url)
        {
            found.entry(url).or_insert((0, one)).0 += 1;
        }
    }
    let most = found.values().map(|(count, _)| *count).max();
    let usual = found.iter().find(|(_, (count, _))| Some(*count) == most).map(|(url, _)| *url);
    let others = found.iter().filter(|(url, _)| Some(**url) != usual);
    let origin = |(url, (_, one)): (&&str, &(usize, &Locked))| Origin {
        file: lock.file.clone(),
        line: one.line,
        span: None,
        text: diagnostic::visible::line(url).into_owned(),
        ..Origin::default()
    };
    others.map(origin).collect()
}
