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

    /// Whether the wheel on PyPI requires triton on a Python; on newer ones there was none when it came out.
    pub fn requires_triton(&self, python: &Python) -> bool {
        self.triton_python_below.as_ref().is_none_or(|below| python.version < *below)
    }
}
