//! Why a stack is as it is: the reason of each choice, what was refused, what to know. Everything is derived:
//! candidates that rank before the chosen ones are judged again by the same functions, or taken from the
//! trace of the search.

mod base_image;
mod decisions;
mod entry;
mod less_known;
mod merge;
mod refusals;
mod rejected;
mod warnings;

use super::criteria::Criteria;
use super::outcome::{Decision, Rejected, Warning};
use super::request::Request;
use super::search::{Choice, Trace};
use super::universe::Universe;
use super::verdict::Tolerance;

/// A request with its answer.
pub(crate) struct Explainer<'u, 'a> {
    pub request: &'a Request,
    /// The same, sorted.
    pub criteria: Criteria<'a>,
    pub choice: &'a Choice<'u>,
    /// The tolerance that the stack needs.
    pub tolerance: Tolerance,
    /// What the search refused.
    pub trace: &'a Trace<'u>,
}

impl<'u> Explainer<'u, '_> {
    /// The decisions, the rejected alternatives, and the warnings.
    pub(crate) fn explain(&self, universe: &'u Universe) -> (Vec<Decision>, Vec<Rejected>, Vec<Warning>) {
        let releases = self.refused_releases(universe);
        (self.decisions(universe, &releases), self.rejected(universe), self.warnings())
    }
}

#[cfg(test)]
mod tests;
