//! Root causes in the logs of failed jobs. In: logs (files, folders, streams, containers). Each line is
//! matched against the signatures of [`catalog::signatures`] ([`scan`], [`read`]); many matches become one
//! root cause ([`root_cause`]). Out: a diagnosis and its reports ([`report`]).
//!
//! Nothing is guessed: a line that no signature matches is quoted, not interpreted.

pub mod code;
mod error_like;
pub mod expression;
pub mod literals;
pub mod log_prefix;
pub mod message;
pub mod read;
pub mod report;
pub mod root_cause;
pub mod scan;
pub mod torchrun;

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod signature_tests;
#[cfg(test)]
mod tests;
