//! Where a package comes from.

use resolve::marker;

use super::Environment;
use crate::declared::{Declared, Dependency, PackageSource};
use crate::project::Project;

/// Where the file of a dependency says that it comes from.
#[derive(Debug)]
pub(super) enum Place<'p> {
    /// It does not say so.
    Any,
    /// The source names an index.
    Index(&'p Declared<PackageSource>),
    /// A repository, an address or a directory.
    Elsewhere,
    /// It depends on the Python.
    Undecided,
}

pub(super) fn place<'p>(
    project: &'p Project,
    dependency: &Declared<Dependency>,
    Environment { architecture, pythons }: Environment<'_>,
) -> Place<'p> {
    let of_file = project.sources.iter().filter(|one| one.origin.file == dependency.origin.file);
    let extras: Vec<&str> = project.extras.iter().map(String::as_str).collect();
    for source in of_file.filter(|one| one.value.package == dependency.value.name) {
        let holds = |marker| marker::holds_with_all(marker, pythons.iter().copied(), architecture, &extras);
        match (source.value.marker.as_deref().map_or(Some(true), holds), &source.value.index) {
            (Some(false), _) => {}
            (None, _) if pythons.len() > 1 => return Place::Undecided,
            // It is no marker.
            (None, _) => {}
            (Some(true), Some(_)) => return Place::Index(source),
            (Some(true), None) => return Place::Elsewhere,
        }
    }
    Place::Any
}
