//! Base images that exist: nvidia/cuda, pytorch/pytorch, NVIDIA's NGC PyTorch, Docker's Python images, bare
//! systems.
//!
//! The files are compact (version × flavours × systems); here every tag is one [`Image`]. A tag that is not
//! here was in none of the lists that were read; whether it exists is then not known, unless
//! [`Repository::complete_until`] covers it: [`crate::base_images::Images::exists`] says.

pub(super) mod cuda;
mod existence;
mod image;
mod list;
pub(super) mod ngc;
pub(super) mod plain;
pub(super) mod python;
pub(super) mod pytorch;
mod reference;

pub use existence::Existence;
pub use image::{AbsentTag, Evidence, Flavour, Image, Repository};
pub use reference::{Reference, split};

/// The repositories in the catalog.
pub const REPOSITORIES: &[&str] =
    &["nvidia/cuda", "pytorch/pytorch", "nvcr.io/nvidia/pytorch", "python", "ubuntu", "debian", "rockylinux"];

/// NVIDIA's PyTorch images, which bring a torch that is no release of PyTorch.
pub const NGC: &str = "nvcr.io/nvidia/pytorch";
