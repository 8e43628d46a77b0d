//! Checks on recorded machines.

mod never_panics;
mod servers;
