//! Files that are read together with others next to them.

use super::dockerfile::Dockerfile;
use super::hostfile::{Hostfile, Readers};
use super::hostfile_starts;
use super::project;
use crate::file::File;
use crate::kind::Kind;

/// A hostfile, with the launchers that the scripts next to it give it to.
pub(crate) fn hostfile(file: &File) -> Hostfile {
    let mut readers = Readers::of(&file.name, &file.over);
    let starts = hostfile_starts::starts(file.catalog, &file.name, &file.over);
    for start in &starts {
        readers.deepspeed |= start.program == "deepspeed";
        readers.mpi |= start.program.starts_with("mpi");
    }
    Hostfile { names: file.names.clone(), readers, starts, ..Hostfile::read(&file.text) }
}

/// A Dockerfile that installs a list of packages.
pub(crate) fn requirements(file: &File) -> Dockerfile {
    let sets = match file.kind {
        Kind::Pyproject => project::pyproject(&file.text).unwrap_or_default(),
        Kind::Conda => project::conda(&file.text),
        _ => vec![file.text.clone()],
    };
    project::installed(file.catalog, sets)
}
