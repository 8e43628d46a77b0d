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
        source: Sources,
    },
    /// The catalog cannot tell.
    Unknown {
        /// Why, in a clause.
        why: String,
    },
}
