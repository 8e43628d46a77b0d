//! Bare systems: the images of `catalog/systems.yaml`.

use super::super::systems::{System, Systems};
use super::image::{Flavour, Image, Repository};
use super::reference::split;

/// The repositories of bare systems.
pub(super) const REPOSITORIES: &[&str] = &["ubuntu", "debian", "rockylinux"];

/// One of the repositories, with every tag, oldest system first.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) repository: Repository,
    pub(crate) images: Vec<Image>,
}

/// Every one of the repositories that has an image.
pub(crate) fn repositories(systems: &Systems) -> Vec<Plain> {
    let one = |name: &&'static str| {
        let images = images(name, systems);
        Some(Plain { repository: whole(name, &images, systems)?, images })
    };
    REPOSITORIES.iter().filter_map(one).collect()
}

/// What is known of one of the repositories as a whole.
fn whole(name: &str, images: &[Image], systems: &Systems) -> Option<Repository> {
    let system = images.last()?.system.as_deref().and_then(|id| systems.system(id))?;
    let example = system.image.as_deref()?;
    Some(Repository {
        name: name.to_owned(),
        scheme: format!("the release, or its code name where it has one ({example})"),
        complete_from: None,
        complete_to: None,
        complete_until: None,
        left_out: Vec::new(),
        source: system.source.clone(),
        checked: system.checked.clone(),
    })
}

fn images(repository: &'static str, systems: &Systems) -> Vec<Image> {
    let image = |system: &System, tag: &str| Image {
        system: Some(system.id.clone()),
        has_cudnn: Some(false),
        cudnn_known: true,
        externally_managed: system.externally_managed,
        seen: system.image_seen.clone(),
        ..Image::new(repository, tag.to_owned(), Flavour::Plain, &system.source)
    };
    systems
        .all()
        .iter()
        .filter_map(|system| Some((system, split(system.image.as_deref()?))))
        .filter(|(_, (name, _))| *name == repository)
        .flat_map(|(system, (_, tag))| {
            let aliases = system.aliases.iter().map(String::as_str);
            tag.into_iter().chain(aliases).map(move |tag| image(system, tag))
        })
        .collect()
}
