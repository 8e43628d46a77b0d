//! A package release that the search refused.

use super::super::constraints::python_wheel;
use super::super::universe::{Build, Release};
use super::super::verdict::Refusal;
use super::build_names::distinct;

/// The constraint that refuses a release without wheels.
pub(super) const WHEEL: &str = python_wheel::PACKAGE.id;

/// A release that the search refused.
pub(super) struct Refused<'a> {
    pub(super) release: &'a Release,
    /// The build with which it was refused.
    pub(super) build: Option<&'a Build>,
    /// Which refusal of the search it is: one release may be refused for one reason here and for another one
    /// there.
    pub(super) index: usize,
    pub(super) constraint: &'static str,
    pub(super) refusal: &'a Refusal,
}

/// The packages of refused releases, each once.
pub(super) fn names<'r, 'a: 'r>(refused: impl Iterator<Item = &'r Refused<'a>>) -> Vec<&'a str> {
    distinct(refused.map(|one| one.release.package))
}
