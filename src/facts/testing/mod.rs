//! Machines for the tests of checks and parsers.
//!
//! [`files`], [`sparse`] and [`smi`] go through the parsers: a machine is what its files and programs say. [`roles`] and
//! [`server`] give facts to be changed field by field. [`verdict`] compares what a check says of them.

pub mod files;
pub mod pci;
pub mod roles;
pub mod server;
pub mod smi;
pub mod sparse;
pub mod verdict;

use super::{Expected, Facts, gather};
use crate::host::record::Replay;

pub use sparse::Sparse;
pub use verdict::{expect, kind, says, word};

/// A machine of which nothing is known, for this reason.
pub fn nothing_known(why: &str) -> Facts {
    gather::recorded(&Replay::new(Default::default(), why), Expected::default())
}

/// The same, as an old snapshot says it.
pub fn unknown() -> Facts {
    nothing_known("not in this snapshot")
}
