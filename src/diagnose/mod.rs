//! What a line of a log means: it is held against the signatures of [`crate::catalog::signatures`].
//!
//! A line that no signature matches has no meaning here: nothing is guessed.

pub mod code;
pub mod literals;
pub mod read;
pub mod says;
pub mod scan;

#[cfg(test)]
mod tests;
