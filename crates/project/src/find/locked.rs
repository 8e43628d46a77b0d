//! The lock of a directory.

use std::path::Path;

use super::PYPROJECT;
use crate::choice::Choice;
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::lock::{FORMATS, Lock, LockFormat, Locked, LockedSource, read_lock};
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::pyproject;
use crate::requirements::{Load, Loaded, lexical};
use crate::selection::LockUse;

/// Reads the lock of a directory into a project whose other files were read; the first of [`FORMATS`] that is
/// there. Returns whether the files that it was made from count alone, and not the requirements files next to
/// it.
///
/// # Errors
///
/// It cannot be read, or has no version that the project allows.
pub(crate) fn read(
    project: &mut Project,
    directory: &Path,
    used: LockUse,
    load: Load<'_>,
) -> Result<bool, ProjectError> {
    let mut counts = false;
    for format in FORMATS {
        let path = lexical(&directory.join(format.file_name()));
        let file = path.display().to_string();
        let reason = match (&project.lock, load(&path)?) {
            (_, Loaded::Missing) => continue,
            (Some(lock), _) => Reason::OtherLock { used: lock.format.file_name() },
            (None, Loaded::Refused(reason)) => reason,
            (None, Loaded::Text(_)) if used == LockUse::Ignored || counts => Reason::LeftOut,
            (None, Loaded::Text(text)) => {
                let lock = read_lock(*format, &file, &text)?;
                parts(project, directory, &lock, load)?;
                counts = !lock.needs_declared() || !project.dependencies.is_empty();
                match counts {
                    false => Reason::NothingDeclared,
                    true if used == LockUse::Regenerated => Reason::LeftOut,
                    true => {
                        take(project, lock)?;
                        continue;
                    }
                }
            }
        };
        project.not_read.push(NotRead { file, line: None, reason });
    }
    if !counts && !is_in(directory) {
        of_workspace(project, directory, load)?;
    }
    Ok(counts)
}

/// How many directories above are looked at.
const LEVELS: usize = 4;

/// Names the lock of a workspace that the directory is a part of.
fn of_workspace(project: &mut Project, directory: &Path, load: Load<'_>) -> Result<(), ProjectError> {
    let Ok(own) = host::file::canonical(directory) else { return Ok(()) };
    let mut above = directory.to_owned();
    for _ in 0..LEVELS {
        above.push("..");
        let path = lexical(&above.join(LockFormat::Uv.file_name()));
        let Loaded::Text(text) = load(&path)? else { continue };
        let file = path.display().to_string();
        let Ok(lock) = read_lock(LockFormat::Uv, &file, &text) else { return Ok(()) };
        let directories = lock.packages.iter().filter_map(|one| one.directory.as_deref());
        let is_own = |part: &str| host::file::canonical(&above.join(part)).is_ok_and(|part| part == own);
        if directories.into_iter().any(is_own) {
            let above = lexical(&above).display().to_string();
            let directory = if above.is_empty() { ".".to_owned() } else { above };
            project.not_read.push(NotRead { file, line: None, reason: Reason::OfWorkspace { directory } });
        }
        return Ok(());
    }
    Ok(())
}

/// Whether a directory has a lock.
pub(crate) fn is_in(directory: &Path) -> bool {
    FORMATS.iter().any(|format| host::file::is_file(&directory.join(format.file_name())))
}

/// Reads what the parts of the project declare: members of a workspace, and libraries next to it.
fn parts(project: &mut Project, directory: &Path, lock: &Lock, load: Load<'_>) -> Result<(), ProjectError> {
    for part in lock.directories() {
        let path = lexical(&directory.join(part).join(PYPROJECT));
        let name = path.display().to_string();
        if project.read.iter().any(|one| one.name == name) {
            continue;
        }
        match load(&path)? {
            Loaded::Text(text) => {
                pyproject::read(project, &mut Choice::default(), &name, &text)?;
            }
            Loaded::Missing => {}
            Loaded::Refused(reason) => project.not_read.push(NotRead { file: name, line: None, reason }),
        }
    }
    Ok(())
}

fn take(project: &mut Project, lock: Lock) -> Result<(), ProjectError> {
    up_to_date(project, &lock)?;
    let packages = Some(lock.packages.iter().filter(|one| one.source != LockedSource::Own).count());
    project.read.push(ReadFile { packages, ..ReadFile::new(&lock.file) });
    project.lock = Some(lock);
    Ok(())
}

/// An error where the lock has no version that a declared dependency allows.
fn up_to_date(project: &Project, lock: &Lock) -> Result<(), ProjectError> {
    let of_kind = |kind| project.dependencies.iter().filter(move |one| one.value.kind == kind);
    for one in of_kind(DeclaredBy::Main) {
        let overridden = of_kind(DeclaredBy::Override).any(|other| other.value.name == one.value.name);
        let locked = lock.packages.iter().filter(|package| package.name == one.value.name);
        let mut locked = locked.peekable();
        // A lock leaves out what none of its environments installs.
        if overridden || locked.peek().is_none() && one.value.marker.is_some() {
            continue;
        }
        let allowed = |package: &Locked| {
            let version = package.version.as_ref();
            let of_index = matches!(package.source, LockedSource::Index(_));
            !of_index
                || version.is_none_or(|version| one.value.versions.contains(&version.clone().without_local()))
        };
        if !locked.any(allowed) {
            return Err(ProjectError::OldLock {
                lock: lock.file.clone(),
                declared: one.origin.to_string(),
                command: lock.format.command(),
            });
        }
    }
    Ok(())
}
