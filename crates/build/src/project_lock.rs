//! The lock of a project, as far as an image installs it.

use std::collections::BTreeSet;

use crate::declared::minor;
use diagnostic::error::{Error, Kind};
use image::request::ProjectLock;
use project::{Lock, LockFormat, Locked, LockedSource, Project, is_of_torch, selected};
use resolve::lock::LockedPackage;
use resolve::outcome::Stack;
use resolve::parameter::Source;
use resolve::parse::architecture_named;
use resolve::request::{Requirement, RequirementKind};

/// Packages that are compiled with the torch that is installed.
const COMPILED: &[&str] = &["flash-attn"];

/// What of the project's lock the image of a stack installs; `None`: it has no lock.
///
/// # Errors
///
/// A package has no hash, or another processor of the request would have other packages.
pub(crate) fn of_stack(
    project: &Project,
    stack: &Stack,
    (required, architectures): (&[Requirement], &[String]),
) -> Result<Option<ProjectLock>, Error> {
    let Some(lock) = &project.lock else { return Ok(None) };
    let Some(python) = minor(&stack.python) else {
        let message = format!("{} cannot be selected for Python {}", lock.file, stack.python);
        return Err(Error::new(Kind::Usage, message));
    };
    let installed = selected(project, lock, python, &stack.architecture)?;
    for other in architectures.iter().filter_map(|one| architecture_named(one)) {
        if other != stack.architecture && selected(project, lock, python, &other)? != installed {
            let message =
                format!("{} has other packages for {other} than for {}", lock.file, stack.architecture);
            let hint = "build one image per architecture, or use the ranges of the project: --without-lock";
            return Err(Error::new(Kind::Usage, message).hint(hint));
        }
    }
    let installed: Vec<&Locked> = installed.into_iter().filter(|one| is_of_index(one)).collect();
    let is_compiled = |one: &&Locked| COMPILED.contains(&one.name.as_str());
    let (compiled, others): (Vec<&Locked>, Vec<&Locked>) = installed.into_iter().partition(is_compiled);
    let packages = others.iter().map(|one| package(lock, one)).collect::<Result<_, _>>()?;
    Ok(Some(ProjectLock {
        file: lock.file.clone(),
        packages,
        separate: compiled.iter().map(|one| one.name.clone()).collect(),
        asked: asked(required),
        links: links(&others),
        add: add(lock.format).to_owned(),
    }))
}

/// The packages that something else than a file of the project requires.
fn asked(required: &[Requirement]) -> Vec<String> {
    let name = |one: &Requirement| match &one.kind {
        RequirementKind::Package(name, _) if matches!(one.source, Source::Given { .. }) => Some(name.clone()),
        _ => None,
    };
    required.iter().filter_map(name).collect()
}

fn is_of_index(one: &Locked) -> bool {
    matches!(one.source, LockedSource::Index(_))
}

fn package(lock: &Lock, one: &Locked) -> Result<LockedPackage, Error> {
    let version = one.version.as_ref().map(ToString::to_string).unwrap_or_default();
    let requirement = format!("{}=={version}", one.name);
    if one.hashes.is_empty() {
        let message = format!("{}:{} {requirement} has no hash", lock.file, one.line);
        let hint = format!(
            "regenerate the lock: `{}`; or use the ranges of the project: --without-lock",
            lock.format.command()
        );
        return Err(Error::new(Kind::File, message).hint(hint));
    }
    Ok(LockedPackage { requirement, hashes: one.hashes.clone() })
}

/// The pages of PyTorch's indexes for the packages that come from there.
fn links(packages: &[&Locked]) -> Vec<String> {
    let page = |one: &&Locked| match &one.source {
        LockedSource::Index(Some(url)) if is_of_torch(url) => {
            Some(format!("{}/{}/", url.trim_end_matches('/'), one.name))
        }
        _ => None,
    };
    packages.iter().filter_map(page).collect::<BTreeSet<_>>().into_iter().collect()
}

fn add(format: LockFormat) -> &'static str {
    match format {
        LockFormat::Uv => "add it with `uv add`",
        LockFormat::Poetry => "add it with `poetry add`",
        LockFormat::Pylock => "add it to the project and regenerate the lock",
    }
}
