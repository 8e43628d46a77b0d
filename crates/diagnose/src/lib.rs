//! What a line of a log means: it is held against the signatures of [`catalog::signatures`]; and what many lines mean together:
//! the root cause ([`weigh`]).
//!
//! A line that no signature matches has no meaning here: nothing is guessed.

pub mod code;
pub mod expression;
pub mod literals;
pub mod origin;
pub mod read;
pub mod report;
pub mod says;
pub mod scan;
pub mod weigh;

#[cfg(test)]
mod signature_tests;
#[cfg(test)]
mod tests;
