//! How a smoke test is to be done.

use catalog::Catalog;
use std::time::Duration;

use crate::smoke::transport::ExpectedTransport;

/// How it is to be done.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the measurements are compared with.
    pub catalog: &'static Catalog,
    /// Sizes in bytes, ascending.
    pub sizes: Vec<usize>,
    /// Rounds of a size; left to the time that they take where it is not said.
    pub iterations: Option<usize>,
    /// The longest that a phase before the sweep may take.
    pub deadline: Duration,
    /// The longest that a connection may stall.
    pub stall: Duration,
    /// Whether every pair of ranks is tried alone, whatever comes before.
    pub pairs: bool,
    /// Whether NCCL sums on the GPUs too.
    pub nccl: When,
    /// Whether the image's own torch sums too.
    pub torch: bool,
    /// Whether DeepSpeed trains too.
    pub deepspeed: bool,
    /// The transport that NCCL should use then.
    pub transport: Option<ExpectedTransport>,
    /// A test's: rank and element of which a byte is turned.
    pub corrupt: Option<(usize, usize)>,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// If its requirements are met.
    Auto,
    /// Always; a missing requirement is a failure.
    Always,
    /// Not at all.
    Never,
}
