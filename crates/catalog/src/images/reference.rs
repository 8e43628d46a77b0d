//! The name of an image, taken apart once.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::image::Image;

/// `nvidia/cuda:12.1.1-base-ubuntu22.04`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct Reference {
    /// `nvidia/cuda`, without Docker Hub's own names.
    pub repository: String,
    /// `12.1.1-base-ubuntu22.04`.
    pub tag: String,
}

impl Reference {
    /// Whether it is the name of an image.
    pub fn names(&self, image: &Image) -> bool {
        self.repository == image.repository && self.tag == image.tag
    }
}

impl From<&Image> for Reference {
    fn from(image: &Image) -> Reference {
        Reference { repository: image.repository.to_owned(), tag: image.tag.clone() }
    }
}

/// Without a tag it is `latest`.
impl From<&str> for Reference {
    fn from(text: &str) -> Reference {
        let (repository, tag) = split(text);
        Reference { repository: repository.to_owned(), tag: tag.unwrap_or("latest").to_owned() }
    }
}

impl From<String> for Reference {
    fn from(text: String) -> Reference {
        Reference::from(text.as_str())
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> String {
        reference.to_string()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

/// Repository and tag; Docker Hub's own names are left out.
pub fn split(reference: &str) -> (&str, Option<&str>) {
    let reference = ["docker.io/", "index.docker.io/", "registry-1.docker.io/"]
        .iter()
        .find_map(|host| reference.strip_prefix(host))
        .unwrap_or(reference);
    let reference = reference.strip_prefix("library/").unwrap_or(reference);
    // A colon before a slash belongs to a port (`localhost:5000/cuda`).
    match reference.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (reference, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_no_tags_and_docker_hub_needs_no_name() {
        for (text, repository, tag) in [
            ("nvidia/cuda:12.1.1-base-ubuntu22.04", "nvidia/cuda", "12.1.1-base-ubuntu22.04"),
            ("host:5000/x:1", "host:5000/x", "1"),
            ("host:5000/x", "host:5000/x", "latest"),
            ("docker.io/library/python:3.12", "python", "3.12"),
        ] {
            let reference = Reference::from(text);
            assert_eq!((reference.repository.as_str(), reference.tag.as_str()), (repository, tag), "{text}");
            assert_eq!(reference.to_string(), format!("{repository}:{tag}"));
        }
    }
}
