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

/// The pins of a lock that hold with each of the Pythons. `depends_on_python` becomes true where another one
/// would have another version of a package that the resolver takes.
pub(super) fn held(
    project: &Project,
    lock: &Lock,
    environment: Environment<'_>,
    depends_on_python: &mut bool,
) -> Result<Vec<Declared<Dependency>>, ProjectError> {
    let Environment { architecture, pythons } = environment;
    let mut sets: Vec<Vec<&Locked>> = Vec::new();
    for python in pythons {
        if lock.supports(*python, architecture)? {
            sets.push(selected(project, lock, *python, architecture)?);
        }
    }
    if sets.is_empty() && !pythons.is_empty() {
        let (file, architecture) = (lock.file.clone(), architecture.to_owned());
        return Err(ProjectError::LockUnsupported { file, architecture });
    }
    let Some((first, others)) = sets.split_first() else { return Ok(Vec::new()) };
    let (same, differing): (Vec<&Locked>, Vec<&Locked>) =
        first.iter().partition(|one| others.iter().all(|other| other.contains(one)));
    let checked = |one: &&Locked| is_package(&one.name) || comes_with_torch(&one.name);
    let in_others = others.iter().flatten().filter(|one| !first.contains(one));
    *depends_on_python |= differing.iter().chain(in_others).any(checked);
    Ok(same.iter().filter_map(|one| dependency(lock, one)).collect())
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

/// A requirement on the Pythons of these that a lock was made for; `None`: it was made for all.
pub(super) fn python(lock: &Lock, environment: Environment<'_>) -> Result<Option<Requirement>, ProjectError> {
    let mut others = Vec::new();
    for python in environment.pythons {
        if !lock.supports(*python, environment.architecture)? {
            others.push(format!("!=3.{python}.*"));
        }
    }
    let text = others.join(",");
    let Ok(specifiers) = text.parse::<VersionSpecifiers>() else { return Ok(None) };
    let shown = "the environments that it was made for".to_owned();
    let origin = Origin { file: lock.file.clone(), line: 1, text: shown, ..Origin::default() };
    let kind = RequirementKind::Python(Versions { text, specifiers, build: None });
    Ok((!others.is_empty()).then(|| required(&origin, kind)))
}

/// What is required and comes from elsewhere than an index: where, with its name, and from where.
pub(super) fn elsewhere(
    project: &Project,
    lock: &Lock,
    environment: Environment<'_>,
) -> Result<Vec<(Origin, Reason)>, ProjectError> {
    let mut found = Vec::new();
    for python in environment.pythons {
        for one in selected(project, lock, *python, environment.architecture)? {
            let LockedSource::Elsewhere(reason) = &one.source else { continue };
            let (file, line, text) = (lock.file.clone(), one.line, one.name.clone());
            let entry = (Origin { file, line, text, ..Origin::default() }, reason.clone());
            if !found.contains(&entry) {
                found.push(entry);
            }
        }
    }
    Ok(found)
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
