//! What official images contain, by repository.

/// An official image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// ubuntu, debian: the system alone.
    System,
    /// nvidia/cuda: a system with CUDA's libraries.
    Cuda,
    /// python: Debian with a Python in /usr/local.
    Python,
    /// pytorch/pytorch: Ubuntu with Python, torch and CUDA.
    Torch,
}

impl Base {
    /// Of a reference with its tag: `ubuntu:22.04`, `docker.io/nvidia/cuda:…`.
    pub(crate) fn of(reference: &str) -> Option<Base> {
        let reference = reference.strip_prefix("docker.io/").unwrap_or(reference);
        let reference = reference.strip_prefix("library/").unwrap_or(reference);
        match reference.split_once(':')?.0 {
            "ubuntu" | "debian" => Some(Base::System),
            "nvidia/cuda" => Some(Base::Cuda),
            "python" => Some(Base::Python),
            "pytorch/pytorch" => Some(Base::Torch),
            _ => None,
        }
    }

    /// Whether only a system package can provide Python.
    pub(crate) fn lacks_python(self) -> bool {
        matches!(self, Base::System | Base::Cuda)
    }

    /// Whether it has no Python packages except pip.
    pub(crate) fn lacks_packages(self) -> bool {
        self != Base::Torch
    }
}

/// Repositories whose images are Debian or Ubuntu with conda, of which no tag says which release, and that
/// leave SHELL as it is (conda-forge/miniforge-images:ubuntu/Dockerfile,
/// anaconda/docker-images:miniconda3/debian/Dockerfile, anaconda3/debian/Dockerfile).
const CONDA: &[&str] =
    &["condaforge/miniforge3", "condaforge/mambaforge", "continuumio/miniconda3", "continuumio/anaconda3"];

/// Whether an image is Debian or Ubuntu of some release, whose /bin/sh is dash.
pub(crate) fn is_debian_with_conda(reference: &str) -> bool {
    let reference = reference.strip_prefix("docker.io/").unwrap_or(reference);
    let (repository, tag) = reference.split_once(':').unwrap_or((reference, "latest"));
    let other = ["alpine", "ubi", "rocky", "alma", "fedora", "amazon", "centos"];
    CONDA.contains(&repository) && !other.iter().any(|system| tag.contains(system)) && !tag.contains('@')
}

/// Whether an image is one of NVIDIA's for Jetson that bring CUDA and no torch: aarch64 with a GPU.
pub(crate) fn is_jetson_without_torch(reference: &str) -> bool {
    let image = reference.strip_prefix("nvcr.io/nvidia/").unwrap_or_default();
    let repository = image.split([':', '@']).next().unwrap_or_default();
    matches!(repository, "l4t-base" | "l4t-cuda" | "l4t-jetpack" | "l4t-tensorrt" | "deepstream-l4t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_repository() {
        assert_eq!(Base::of("docker.io/library/ubuntu:22.04"), Some(Base::System));
        assert_eq!(Base::of("nvidia/cuda:12.4.1-base-ubuntu22.04"), Some(Base::Cuda));
        assert_eq!(Base::of("example.org/python:3.12"), None);
        assert!(is_debian_with_conda("condaforge/miniforge3:24.9.2-0"));
        assert!(!is_debian_with_conda("continuumio/miniconda3:24.1.2-0-alpine"));
        assert!(is_jetson_without_torch("nvcr.io/nvidia/l4t-jetpack:r36.4.0"));
        assert!(!is_jetson_without_torch("nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3"));
        assert!(Base::Python.lacks_packages() && !Base::Python.lacks_python());
    }
}
