//! Does an image exist? Yes where a list or a file named it, no where a complete list or a rule says so, else
//! unknown.

use super::image::Image;

/// The answer.
#[derive(Debug, Clone)]
pub enum Existence {
    /// A list or a file of others named it.
    Yes(&'static Image),
    /// It does not exist.
    No {
        /// Why that is certain, in a clause.
        why: String,
        /// Where this was read.
        source: String,
    },
    /// The catalog cannot tell.
    Unknown {
        /// Why, in a clause.
        why: String,
    },
}

/// Looks up any reference: `nvidia/cuda`, `docker.io/library/python:3.12`, `nvidia/cuda:12.1-base`.
pub fn exists(reference: &str) -> Existence {
    let reference = reference.trim();
    if reference.contains('@') {
        return Existence::Unknown { why: "the catalog knows tags, not digests".to_owned() };
    }
    let (repository, tag) = split(reference);
    if let Some(image) = super::of(repository).iter().find(|image| image.tag == tag) {
        return Existence::Yes(image);
    }
    let full = format!("{repository}:{tag}");
    if let Some(row) = super::absent().iter().find(|row| row.reference == full) {
        return Existence::No { why: row.why.clone(), source: row.source.clone() };
    }
    match repository {
        "nvidia/cuda" => super::cuda::missing(tag),
        "pytorch/pytorch" => super::pytorch::missing(tag),
        "nvcr.io/nvidia/pytorch" => super::ngc::missing(tag),
        "python" => super::python::missing(tag),
        _ if super::REPOSITORIES.contains(&repository) => {
            Existence::Unknown { why: "none of the lists that were read has it".to_owned() }
        }
        _ => Existence::Unknown { why: format!("{repository} is not in the catalog") },
    }
}

/// Repository and tag of a reference; without a tag it is `latest`, and Docker Hub's own names are left out.
pub(super) fn split(reference: &str) -> (&str, &str) {
    let reference = ["docker.io/", "index.docker.io/", "registry-1.docker.io/"]
        .iter()
        .find_map(|host| reference.strip_prefix(host))
        .unwrap_or(reference);
    let reference = reference.strip_prefix("library/").unwrap_or(reference);
    // A colon before a slash belongs to a port (`localhost:5000/cuda`).
    match reference.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((repository, tag)) => (repository, tag),
        None => (reference, "latest"),
    }
}
