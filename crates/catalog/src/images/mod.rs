//! Base images that exist: nvidia/cuda, pytorch/pytorch, NVIDIA's NGC PyTorch, Docker's Python images, bare
//! systems.
//!
//! The files are compact (version × flavours × systems); here every tag is one [`Image`]. A tag that is not
//! here was in none of the lists that were read; whether it exists is then not known, unless
//! [`Repository::complete_until`] covers it: [`exists`] says.

pub(super) mod cuda;
mod existence;
mod image;
mod nearest;
pub(super) mod ngc;
mod plain;
pub(super) mod python;
pub(super) mod pytorch;

pub use existence::{Existence, exists};
pub use image::{AbsentTag, Evidence, Flavour, Image, Repository};
pub use nearest::nearest;

/// The repositories in the catalog.
pub const REPOSITORIES: &[&str] =
    &["nvidia/cuda", "pytorch/pytorch", "nvcr.io/nvidia/pytorch", "python", "ubuntu", "debian", "rockylinux"];

/// NVIDIA's PyTorch images, which bring a torch that is no release of PyTorch.
pub const NGC: &str = "nvcr.io/nvidia/pytorch";

/// All images of one repository, oldest CUDA, torch or system first; empty for a repository that is not in
/// the catalog. Parsed when first asked for.
pub fn of(repository: &str) -> &'static [Image] {
    match repository {
        "nvidia/cuda" => cuda::all(),
        "pytorch/pytorch" => pytorch::all(),
        NGC => ngc::all(),
        "python" => python::all(),
        _ => plain::of(repository),
    }
}

/// What is known of a repository as a whole; `None` for one that is not in the catalog.
pub fn repository(name: &str) -> Option<&'static Repository> {
    match name {
        "nvidia/cuda" => Some(cuda::repository()),
        "pytorch/pytorch" => Some(pytorch::repository()),
        NGC => Some(ngc::repository()),
        "python" => Some(python::repository()),
        _ => plain::repository(name),
    }
}

/// Tags that were looked for in complete lists and are not there.
pub fn absent() -> &'static [AbsentTag] {
    cuda::absent()
}

#[cfg(test)]
mod tests;
