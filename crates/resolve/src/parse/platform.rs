//! System, processor and base image as people name them.

use super::ParameterError;
use crate::parameter::Parameter;
use crate::request::Base;
use catalog::Catalog;
use catalog::images::{self, Existence, Image, Reference};
use catalog::systems::System;
use diagnostic::suggest::nearest;

/// The system that somebody means: `ubuntu22.04`, `Ubuntu 22.04`, `ubuntu:22.04`, `jammy`, `rocky9`.
pub fn system(catalog: &'static Catalog, text: &str) -> Option<&'static System> {
    let criteria = squeezed(text);
    catalog.systems().all().iter().find(|system| {
        squeezed(&system.id) == criteria
            || squeezed(&system.name) == criteria
            || system.codename.as_deref().is_some_and(|codename| squeezed(codename) == criteria)
    })
}

/// The system that a machine or an image says it is (`ID` and `VERSION_ID` of os-release): `ubuntu`, `22.04`;
/// `rocky`, `9.4`. A minor release of a family changes neither glibc nor Python's series.
pub fn system_of_release(catalog: &'static Catalog, id: &str, release: &str) -> Option<&'static System> {
    let major = release.split('.').next().unwrap_or_default();
    system(catalog, &format!("{id} {release}")).or_else(|| system(catalog, &format!("{id} {major}")))
}

/// Letters, digits and dots, lower-case, without the word "linux" and "LTS".
fn squeezed(text: &str) -> String {
    let text = text.to_ascii_lowercase().replace("linux", "").replace("lts", "");
    text.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '.').collect()
}

/// The id of the system in `--os`.
pub(super) fn required_system(catalog: &'static Catalog, text: &str) -> Result<String, ParameterError> {
    // Names are compared without signs, and this text becomes a comment and a label of the image.
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-:/".contains(c);
    if let Some(system) = system(catalog, text).filter(|_| text.chars().all(plain)) {
        return Ok(system.id.clone());
    }
    let all: Vec<&str> = catalog.systems().all().iter().map(|system| system.id.as_str()).collect();
    Err(ParameterError::new(Parameter::Os, format!("unknown operating system {:?}", text.trim()))
        .near(nearest(&squeezed(text), all.iter().copied()))
        .hint(format!("operating systems: {}", all.join(", "))))
}

/// The processor in `--arch`.
pub(super) fn architecture(text: &str) -> Result<String, ParameterError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "x86_64" | "x86-64" | "amd64" | "x64" | "linux/amd64" => Ok("x86_64".into()),
        "aarch64" | "arm64" | "armv8" | "linux/arm64" => Ok("aarch64".into()),
        other => Err(ParameterError::new(Parameter::Arch, format!("unknown architecture {other:?}"))
            .hint("architectures: x86_64 (amd64), aarch64 (arm64)")),
    }
}

/// The architecture that somebody means by `amd64` or `linux/arm64`: `x86_64`, `aarch64`.
pub fn architecture_named(text: &str) -> Option<String> {
    architecture(text).ok()
}

/// Short names of repositories.
const SHORT: &[(&str, &str)] = &[
    ("cuda", "nvidia/cuda"),
    ("pytorch", "pytorch/pytorch"),
    ("ngc", "nvcr.io/nvidia/pytorch"),
    ("rocky", "rockylinux"),
];

/// The base image in `--base`.
pub(super) fn base(catalog: &'static Catalog, text: &str) -> Result<Base, ParameterError> {
    let typed = text.trim();
    if typed == "none" {
        return Ok(Base::None);
    }
    if let Some(position) = typed.find('@') {
        let message = "a digest names an image whose content the catalog cannot know";
        return Err(
            ParameterError::at(Parameter::Base, typed, position, message).hint("name the tag instead")
        );
    }
    let (repository, tag) = images::split(typed);
    let repository =
        SHORT.iter().find(|(short, _)| *short == repository).map_or(repository, |(_, whole)| whole);
    if !images::REPOSITORIES.contains(&repository) {
        return Err(no_repository(repository));
    }
    match tag {
        None => Ok(Base::Repository(repository.to_owned())),
        Some(tag) => image(catalog, Reference { repository: repository.to_owned(), tag: tag.to_owned() }),
    }
}

/// An image that was named whole: only one of which the catalog knows what is in it can be judged.
fn image(catalog: &'static Catalog, reference: Reference) -> Result<Base, ParameterError> {
    let name = reference.to_string();
    let message = match catalog.images().exists(&name) {
        Existence::Yes(image) if image.repository == images::NGC && !image.lacks().is_empty() => {
            return Err(not_known(catalog, image));
        }
        Existence::Yes(_) => return Ok(Base::Image(reference)),
        Existence::No { why, .. } => format!("{name} does not exist: {why}"),
        Existence::Unknown { why } => {
            format!("whether {name} exists and what is in it is not known: {why}")
        }
    };
    let near: Vec<String> =
        catalog.images().nearest(&name).into_iter().map(images::Image::reference).collect();
    let error = ParameterError::new(Parameter::Base, message);
    Err(if near.is_empty() { error } else { error.hint(format!("nearest are {}", near.join(", "))) })
}

/// One of NVIDIA's images of which too little is known to install anything next to its torch.
fn not_known(catalog: &'static Catalog, image: &Image) -> ParameterError {
    let whole = catalog.images().of(image.repository).iter().rev().filter(|image| image.lacks().is_empty());
    let newest: Vec<&str> = whole.take(3).map(|image| image.tag.as_str()).collect();
    let lacks = image.lacks().join(", ");
    ParameterError::new(Parameter::Base, format!("what is in {} is not known: {lacks}", image.reference()))
        .hint(format!("the newest of which it is known are {}", newest.join(", ")))
}

fn no_repository(name: &str) -> ParameterError {
    let known = SHORT.iter().map(|(short, _)| *short).chain(images::REPOSITORIES.iter().copied());
    ParameterError::new(Parameter::Base, format!("the catalog has no images of {name:?}"))
        .near(nearest(name, known))
        .hint(format!("it has {}; none: no image", images::REPOSITORIES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn systems_by_all_their_names() {
        for text in
            ["ubuntu22.04", "ubuntu-22.04", "Ubuntu 22.04", "ubuntu:22.04", "jammy", "Ubuntu 22.04 LTS"]
        {
            assert_eq!(required_system(catalog(), text).as_deref(), Ok("ubuntu22.04"), "{text}");
        }
        let error = required_system(catalog(), "ubuntu22").unwrap_err();
        assert_eq!(error.hints[0], "did you mean ubuntu22.04?");
        assert!(required_system(catalog(), "windows").is_err());
    }

    #[test]
    fn parses_architecture_names() {
        assert_eq!(architecture("arm64").as_deref(), Ok("aarch64"));
        assert_eq!(architecture("AMD64").as_deref(), Ok("x86_64"));
        assert!(architecture("ppc64le").unwrap_err().hints[0].contains("aarch64"));
    }

    #[test]
    fn parses_base_images() {
        assert_eq!(base(catalog(), "none"), Ok(Base::None));
        assert_eq!(base(catalog(), "cuda"), Ok(Base::Repository("nvidia/cuda".into())));
        assert_eq!(base(catalog(), "docker.io/nvidia/cuda"), Ok(Base::Repository("nvidia/cuda".into())));
        let image = "nvidia/cuda:12.1.1-base-ubuntu22.04";
        assert_eq!(base(catalog(), image), Ok(Base::Image(image.into())));
        let unknown = base(catalog(), "nvcr.io/nvidia/pytorch:26.08-py3").unwrap_err();
        assert!(
            unknown.problem.contains("its torch, its CUDA") && unknown.hints[0].contains("26.03-py3"),
            "{unknown:?}"
        );
        let absent = base(catalog(), "nvidia/cuda:12.1-base").unwrap_err();
        assert!(
            absent.problem.contains("does not exist: ") && absent.hints[0].contains("nvidia/cuda:12.1."),
            "{absent:?}"
        );
        assert_eq!(base(catalog(), "nvidia/cdua").unwrap_err().hints[0], "did you mean nvidia/cuda?");
        assert!(base(catalog(), "nvidia/cuda@sha256:00").unwrap_err().problem.contains("digest"));
    }
}
