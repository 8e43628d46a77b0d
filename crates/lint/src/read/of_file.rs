//! Files that are read together with others next to them.

use super::config::Config;
use super::dockerfile::Dockerfile;
use super::hostfile::{Hostfile, Readers};
use super::json::Json;
use super::project;
use crate::file::{File, World};
use crate::kind::Kind;

/// A hostfile, with the launchers that the scripts next to it give it to.
pub(crate) fn hostfile(file: &File) -> Hostfile {
    let scripts = file.over.iter().map(|script| script.text.as_str());
    let readers = Readers::of(&file.name, scripts);
    Hostfile { names: file.names.clone(), readers, ..Hostfile::read(&file.text) }
}

/// A DeepSpeed configuration; the number of ranks comes from a hostfile in the same directory unless it was
/// given.
pub(crate) fn config(file: &File) -> Config {
    let companions = file.over.iter().find(|other| other.name.ends_with("hostfile"));
    let world_of_companions = companions.and_then(|other| {
        let size = Hostfile::read(&other.text).slots()?;
        Some(World { size, from: other.name.clone(), given: false })
    });
    let template = file.text.contains("{{") || file.text.contains("{%") || file.text.contains("${");
    Config {
        catalog: file.catalog,
        json: Json::read(&file.text),
        template,
        world: file.world.clone().or(world_of_companions),
        facts: file.facts.clone(),
    }
}

/// A Dockerfile that installs a list of packages.
pub(crate) fn requirements(file: &File) -> Dockerfile {
    let sets = match file.kind {
        Kind::Pyproject => project::pyproject(&file.text),
        Kind::Conda => project::conda(&file.text),
        _ => vec![file.text.clone()],
    };
    project::installed(file.catalog, sets)
}
