//! What the wheels of a torch build are on each processor.

use super::python::Python;
use super::universe::Build;

impl Build {
    /// Whether PyPI serves it for a processor: for aarch64 it has wheels without CUDA up to torch 2.10.
    pub fn on_pypi(&self, architecture: &str) -> bool {
        match architecture {
            "aarch64" => self.release.aarch64_build.as_ref() == Some(&self.build.build),
            _ => self.pypi,
        }
    }

    /// The compute capabilities that its wheels for a processor have machine code for; `None`: not known.
    pub fn compiled_for(&self, architecture: &str) -> Option<&Vec<(u32, u32)>> {
        match architecture {
            "x86_64" => self.compiled.as_ref(),
            _ => self.compiled_aarch64.as_ref(),
        }
    }

    /// The Pythons for which it has wheels for a processor; `None`: not known. PyPI has wheels for aarch64
    /// without CUDA that are none of the release matrix.
    pub fn pythons_for(&self, architecture: &str) -> Option<&Vec<String>> {
        match architecture {
            "aarch64" if self.is_cpu() && self.on_pypi(architecture) => self.release.aarch64_pythons.as_ref(),
            _ => self.build.pythons.as_ref(),
        }
    }

    /// Whether the wheel requires triton on a Python: CPU wheels never do, and on newer Pythons there was
    /// none when the one on PyPI came out.
    pub fn requires_triton(&self, python: &Python) -> bool {
        !self.is_cpu() && self.triton_python_below.as_ref().is_none_or(|below| python.version < *below)
    }
}
