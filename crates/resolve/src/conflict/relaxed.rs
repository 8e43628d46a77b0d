//! A relaxed requirement and its cost.

use super::super::request::Requirement;
use super::super::verdict::Tolerance;

/// What a change costs, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// From another patch release (0), minor (1) or major (2) over another driver (3) and a package less (4)
    /// to hardware that is left out (5).
    pub weight: u8,
    /// The tolerance that the stack needs.
    pub tolerance: Tolerance,
    /// How many releases it is away.
    pub steps: usize,
}

/// A requirement that was changed so that the others hold.
#[derive(Debug, Clone)]
pub(super) struct Relaxed {
    /// The requirement that takes its place; `None`: it is dropped.
    pub replacement: Option<Requirement>,
    /// The option to write in its place: `--torch 2.7.1`.
    pub option: Option<String>,
    /// What it costs, in a sentence.
    pub change: String,
    pub cost: Cost,
}
