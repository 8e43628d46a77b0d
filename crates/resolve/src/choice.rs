//! What a search chooses and refuses.

use super::constraint::Environment;
use super::universe::Release;
use super::verdict::{Candidate, Reason};

/// A stack, complete or in the making.
#[derive(Debug, Clone)]
pub(crate) struct Choice<'u> {
    /// The torch build, the Python and the base image.
    pub environment: Environment<'u>,
    /// The packages chosen so far.
    pub packages: Vec<&'u Release>,
}

impl<'u> Choice<'u> {
    /// The chosen release of a package.
    pub(crate) fn package(&self, name: &str) -> Option<&'u Release> {
        self.packages.iter().find(|release| release.package == name).copied()
    }
}

/// A candidate that ranks before the chosen one, and why it was rejected.
#[derive(Debug, Clone)]
pub(crate) struct Rejected<'u> {
    pub candidate: Candidate<'u>,
    pub reasons: Vec<Reason<'u>>,
}

/// A record of what a search refused.
#[derive(Debug, Default)]
pub(crate) struct Trace<'u> {
    /// In the order of the search; a candidate may occur several times.
    pub rejected: Vec<Rejected<'u>>,
}
