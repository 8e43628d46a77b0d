//! The envdoc program: its command line.

pub mod cli;
