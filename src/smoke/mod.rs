//! The smoke test: an all-reduce between the ranks of a cluster, with a verdict.
//!
//! [`pattern`] is what the ranks sum and how every element of the sum is known, [`ring`] the all-reduce over TCP.

pub mod pattern;
pub mod ring;
