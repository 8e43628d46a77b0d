//! Bare systems: the images of `catalog/systems.yaml`.

use std::sync::OnceLock;

use super::super::systems::{self, System};
use super::existence::split;
use super::image::{Flavour, Image, Repository};

/// The repositories of bare systems.
pub(super) const REPOSITORIES: &[&str] = &["ubuntu", "debian", "rockylinux"];

/// What is known of one of the repositories as a whole.
pub(super) fn repository(name: &str) -> Option<&'static Repository> {
    static ALL: OnceLock<Vec<Repository>> = OnceLock::new();
    let all = ALL.get_or_init(|| REPOSITORIES.iter().filter_map(|name| whole(name)).collect());
    all.iter().find(|row| row.name == name)
}

fn whole(name: &str) -> Option<Repository> {
    let newest = of(name).last()?;
    let system = newest.system.as_deref().and_then(systems::system)?;
    let example = system.image.as_deref()?;
    Some(Repository {
        name: name.to_owned(),
        scheme: format!("the release, or its code name where it has one ({example})"),
        complete_from: None,
        complete_to: None,
        complete_until: None,
        left_out: String::new(),
        source: system.source.clone(),
        checked: system.checked.clone(),
    })
}

/// Every tag of one of the repositories, oldest system first.
pub(super) fn of(repository: &str) -> &'static [Image] {
    static IMAGES: OnceLock<Vec<Vec<Image>>> = OnceLock::new();
    let all = IMAGES.get_or_init(|| REPOSITORIES.iter().map(|name| images(name)).collect());
    let place = REPOSITORIES.iter().position(|name| *name == repository);
    place.map_or(&[], |place| &all[place])
}

fn images(repository: &'static str) -> Vec<Image> {
    let image = |system: &'static System, tag: &str| Image {
        system: Some(system.id.clone()),
        has_cudnn: Some(false),
        cudnn_known: true,
        externally_managed: system.externally_managed,
        seen: system.image_seen.clone(),
        ..Image::new(repository, tag.to_owned(), Flavour::Plain, &system.source)
    };
    systems::all()
        .iter()
        .filter_map(|system| Some((system, split(system.image.as_deref()?))))
        .filter(|(_, (name, _))| *name == repository)
        .flat_map(|(system, (_, tag))| {
            let aliases = system.aliases.split(' ').filter(|alias| !alias.is_empty());
            std::iter::once(tag).chain(aliases).map(move |tag| image(system, tag))
        })
        .collect()
}
