//! envdoc: a container image builder and environment doctor for GPU servers.
//!
//! A machine is read through [`host`], becomes [`facts`], is judged by [`checks`] with the knowledge of [`catalog`], and the
//! verdicts are written by [`report`]. [`cli`] puts the verbs together.

pub mod catalog;
pub mod checks;
pub mod cli;
pub mod cluster;
pub mod diagnose;
pub mod engine;
pub mod error;
pub mod facts;
pub mod host;
pub mod image;
pub mod inspect;
pub mod lint;
pub mod prove;
pub mod render;
pub mod report;
pub mod resolve;
pub mod smoke;
pub mod worker;
pub mod yaml;
