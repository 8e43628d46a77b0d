//! Machines for the tests of parsers and of everything above: checks, lint, resolve.
//!
//! Not behind `cfg(test)`, which other crates do not see; nothing in the program calls it, so that it is not
//! in the binary.
//!
//! [`files`], [`sparse`] and [`smi`] go through the parsers: a machine is what its files and programs say.
//! [`roles`] and [`server`] give facts to be changed field by field.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

pub mod files;
pub mod pci;
pub mod roles;
pub mod server;
pub mod smi;
pub mod sparse;

use super::{Expected, Facts, Missing, gather};
use host::record::Replay;

pub use sparse::Sparse;

/// A machine of which nothing is known, for this reason.
pub fn nothing_known(why: impl Into<Missing>) -> Facts {
    gather::recorded(&Replay::new(Default::default(), why), Expected::default(), catalog::testing::catalog())
}

/// The same, as an old snapshot says it.
pub fn unknown() -> Facts {
    nothing_known(Missing::not_recorded())
}
