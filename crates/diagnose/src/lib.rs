//! What a line of a log means: it is held against the signatures of [`catalog::signatures`]; and what many
//! lines mean together: the root cause ([`root_cause`]).
//!
//! A line that no signature matches has no meaning here: nothing is guessed.

pub mod code;
pub mod expression;
pub mod literals;
pub mod log_prefix;
pub mod message;
pub mod read;
pub mod report;
pub mod root_cause;
pub mod scan;

#[cfg(test)]
mod signature_tests;
#[cfg(test)]
mod tests;
