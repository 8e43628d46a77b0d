//! Answers of the resolver, one file a format.

pub mod json;
pub mod text;

use crate::resolve::answer::{Answer, Warning};
use crate::resolve::request::Wish;

/// What is reported.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was asked for.
    pub wishes: &'a [Wish],
    /// The answer.
    pub answer: &'a Answer,
    /// What is to know beside it: of the machines, and of how the options were read.
    pub warnings: &'a [Warning],
    /// What is to know and asks for nothing.
    pub notes: &'a [String],
}

impl Report<'_> {
    /// All warnings: of the stack, and beside it.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Warning> {
        let of_stack = match self.answer {
            Answer::Found(resolution) => &resolution.warnings[..],
            Answer::None(_) => &[],
        };
        of_stack.iter().chain(self.warnings)
    }
}
