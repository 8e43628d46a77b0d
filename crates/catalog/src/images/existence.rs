//! The answer to the question whether an image exists: yes where a list or a file named it, no where a
//! complete list or a rule says so, else unknown.

use super::image::Image;
use crate::Sources;

/// Whether an image exists, as far as the catalog knows.
#[derive(Debug, Clone)]
pub enum Existence<'c> {
    /// A list or a file of others named it.
    Yes(&'c Image),
    /// It does not exist.
    No {
        /// Why that is certain, in a clause.
        why: String,
        /// Where this was read.
        source: Sources,
    },
    /// The catalog cannot tell.
    Unknown {
        /// Why, in a clause.
        why: String,
    },
}

/// Repository and tag of a reference; without a tag it is `latest`, and Docker Hub's own names are left out.
pub(crate) fn split(reference: &str) -> (&str, &str) {
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
