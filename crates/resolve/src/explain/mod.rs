//! Why a stack is as it is: the reason of each choice, what was refused, what to know. Everything is derived:
//! candidates that rank before the chosen ones are judged again by the same functions, or taken from the
//! trace of the search.

mod because;
mod merge;
mod refusals;
mod rejected;
mod warnings;

use super::answer::{Because, Rejected, Warning};
use super::request::Request;
use super::search::{Choice, Trace};
use super::verdict::Tolerance;
use super::wanted::Wanted;
use super::world::World;

/// A request with its answer.
pub struct Answered<'w, 'a> {
    /// What was asked.
    pub request: &'a Request,
    /// The same, sorted.
    pub wanted: Wanted<'a>,
    /// What was chosen.
    pub choice: &'a Choice<'w>,
    /// What had to be put up with.
    pub tolerance: Tolerance,
    /// What the search refused.
    pub trace: &'a Trace<'w>,
}

impl<'w> Answered<'w, '_> {
    /// The reason of each choice, the refused alternatives, and what to know.
    pub fn explain(&self, world: &'w World) -> (Vec<Because>, Vec<Rejected>, Vec<Warning>) {
        let releases = self.refused_releases(world);
        (self.because(world, &releases), self.rejected(world), self.warnings())
    }
}

#[cfg(test)]
mod tests;
