//! What an image is, read from the engine that has it or from its registry without pulling it, and whether it
//! runs on a machine.
//!
//! [`docker::reference`] reads names, [`image`] what an engine or a registry says, [`requirement`] the
//! condition under which NVIDIA's container toolkit starts an image, [`judge`] holds an image against a
//! machine; [`probe`] reads the output of a container. Everything here is pure.

pub mod existence;
pub mod image;
pub mod judge;
pub mod probe;
mod read_from;
pub mod remote;
pub mod report;
pub mod requirement;

pub use docker::reference::Reference;
pub use image::Image;
pub use judge::{Judged, judge};
pub use read_from::ReadFrom;
