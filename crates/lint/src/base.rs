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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_repository() {
        assert_eq!(Base::of("docker.io/library/ubuntu:22.04"), Some(Base::System));
        assert_eq!(Base::of("nvidia/cuda:12.4.1-base-ubuntu22.04"), Some(Base::Cuda));
        assert_eq!(Base::of("example.org/python:3.12"), None);
        assert!(Base::Python.lacks_packages() && !Base::Python.lacks_python());
    }
}
