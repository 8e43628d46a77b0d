//! Files that are read together with others next to them.

use super::compose::{Compose, Service};
use super::dockerfile::Dockerfile;
use super::hostfile::{Container, Hostfile, Readers};
use super::hostfile_starts;
use super::project;
use crate::file::{File, Over, Stack};
use crate::kind::Kind;

/// A hostfile, with the launchers that the scripts next to it give it to.
pub(crate) fn hostfile(file: &File) -> Hostfile {
    let is_compose = |one: &Over| one.name.ends_with(".yaml") || one.name.ends_with(".yml");
    let (composes, scripts): (Vec<Over>, Vec<Over>) = file.over.iter().cloned().partition(is_compose);
    let mut readers = Readers::of(&file.name, &scripts);
    let starts = hostfile_starts::starts(file.catalog, &file.name, &scripts);
    for start in &starts {
        readers.deepspeed |= start.program == "deepspeed";
        readers.mpi |= start.program.starts_with("mpi");
    }
    let containers = composes.iter().flat_map(|one| containers(file, one)).collect();
    Hostfile { names: file.names.clone(), readers, starts, containers, ..Hostfile::read(&file.text) }
}

/// The containers of a Compose file that get a known number of GPUs.
fn containers(file: &File, compose: &Over) -> Vec<Container> {
    let read = Compose::read(file.catalog, &compose.text, &[], Stack::Unsaid);
    let of = |service: &Service| {
        let gpus = service.gpus()?.count()?;
        let own = service.text("container_name").into_iter().chain(service.text("hostname"));
        let names = own.chain([service.name.clone()]).collect();
        let own = !service.extends_elsewhere;
        own.then(|| Container { names, gpus, file: compose.name.clone() })
    };
    read.services.iter().filter_map(of).collect()
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
