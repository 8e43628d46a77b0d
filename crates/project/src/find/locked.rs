//! The lock of a directory.

use std::path::Path;

use super::PYPROJECT;
use crate::choice::Choice;
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::lock::{FORMATS, Lock, Locked, LockedSource, read_lock};
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::pyproject;
use crate::requirements::{Load, Loaded, lexical};

/// What a lock of the directory is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LockUse {
    /// It decides the versions.
    #[default]
    Obeyed,
    /// It will be made again from the files that it was made from: those alone count.
    Renewed,
    /// Nothing.
    Ignored,
}

/// Reads the lock of a directory into a project whose other files were read; the first of [`FORMATS`] that is
/// there. `used`: whether it counts.
///
/// # Errors
///
/// It cannot be read, or is older than what the project declares.
pub(crate) fn read(
    project: &mut Project,
    directory: &Path,
    used: bool,
    load: Load<'_>,
) -> Result<(), ProjectError> {
    for format in FORMATS {
        let path = lexical(&directory.join(format.file_name()));
        let file = path.display().to_string();
        let reason = match (&project.lock, used, load(&path)?) {
            (_, _, Loaded::Missing) => continue,
            (Some(lock), ..) => Reason::OtherLock { used: lock.format.file_name() },
            (None, false, Loaded::Text(text)) => {
                // It knows the parts of the project, whether or not its versions count.
                if let Ok(lock) = read_lock(*format, &file, &text) {
                    parts(project, directory, &lock, load)?;
                }
                Reason::LeftOut
            }
            (None, _, Loaded::Refused(reason)) => reason,
            (None, true, Loaded::Text(text)) => {
                let lock = read_lock(*format, &file, &text)?;
                parts(project, directory, &lock, load)?;
                match take(project, lock)? {
                    None => continue,
                    Some(reason) => reason,
                }
            }
        };
        project.not_read.push(NotRead { file, line: None, reason });
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

fn take(project: &mut Project, lock: Lock) -> Result<Option<Reason>, ProjectError> {
    let file = lock.file.clone();
    if lock.needs_declared() && project.dependencies.is_empty() {
        return Ok(Some(Reason::NothingDeclared));
    }
    up_to_date(project, &lock)?;
    let elsewhere = lock.packages.iter().filter_map(|one| match &one.source {
        LockedSource::Elsewhere(reason) => {
            Some(NotRead { file: file.clone(), line: Some(one.line), reason: reason.clone() })
        }
        _ => None,
    });
    project.not_read.extend(elsewhere);
    let packages = Some(lock.packages.iter().filter(|one| one.source != LockedSource::Own).count());
    project.read.push(ReadFile { packages, ..ReadFile::new(&file) });
    project.lock = Some(lock);
    Ok(None)
}

/// An error where the lock has no version that a declared dependency allows.
fn up_to_date(project: &Project, lock: &Lock) -> Result<(), ProjectError> {
    for one in project.dependencies.iter().filter(|one| one.value.kind == DeclaredBy::Main) {
        let mut locked = lock.packages.iter().filter(|package| package.name == one.value.name);
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
