//! What a request is made of: options of the command line, which are keys in an image file.

use std::fmt;

/// A part of a request that a user gives a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// CUDA of the torch build.
    Cuda,
    /// A version or range of Python.
    Python,
    /// PyTorch, with its build where one is given.
    Torch,
    /// A version or range of DeepSpeed; empty: any.
    DeepSpeed,
    /// Any other package, by its requirement.
    With,
    /// A named set of packages.
    Preset,
    /// A GPU, by name or compute capability.
    Gpu,
    /// A version or branch of the host's NVIDIA driver.
    Driver,
    /// The operating system of the image.
    Os,
    /// `x86_64` or `aarch64`.
    Arch,
    /// A repository or image, or `none`.
    Base,
    /// Whether CUDA code is compiled in the image.
    Compile,
}

/// The two sets of names that parameters have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Naming {
    /// `--with`.
    #[default]
    Options,
    /// `packages`, as in an image file.
    Keys,
}

impl Parameter {
    /// The option, or the key of an image file.
    pub fn name(self, naming: Naming) -> &'static str {
        let (option, key) = match self {
            Parameter::Cuda => ("--cuda", "cuda"),
            Parameter::Python => ("--python", "python"),
            Parameter::Torch => ("--torch", "torch"),
            Parameter::DeepSpeed => ("--deepspeed", "deepspeed"),
            Parameter::With => ("--with", "packages"),
            Parameter::Preset => ("--preset", "presets"),
            Parameter::Gpu => ("--gpu", "gpus"),
            Parameter::Driver => ("--driver", "driver"),
            Parameter::Os => ("--os", "os"),
            Parameter::Arch => ("--arch", "architectures"),
            Parameter::Base => ("--base", "base"),
            Parameter::Compile => ("--compile", "compile"),
        };
        match naming {
            Naming::Options => option,
            Naming::Keys => key,
        }
    }
}

/// Where a requirement comes from. Its text names the requirement in messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A parameter that the user gave: `--cuda 12.1`.
    Given {
        /// The option or key that the user wrote.
        parameter: Parameter,
        /// As typed; empty where the parameter stands alone (`--compile`).
        value: String,
        /// Whether it was an option or a key.
        naming: Naming,
    },
    /// A machine, a lock file or a setting: `GPU of node-a.json: NVIDIA L4`.
    Stated(String),
    /// The resolver tries it out; no message names it.
    Trial,
}

impl Source {
    /// An option of the command line.
    pub fn option(parameter: Parameter, value: impl Into<String>) -> Source {
        Source::Given { parameter, value: value.into(), naming: Naming::Options }
    }

    /// The parameter, where the user gave one.
    pub fn parameter(&self) -> Option<Parameter> {
        match self {
            Source::Given { parameter, .. } => Some(*parameter),
            Source::Stated(_) | Source::Trial => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Given { parameter, value, naming } if value.is_empty() => {
                formatter.write_str(parameter.name(*naming))
            }
            Source::Given { parameter, value, naming } => {
                write!(formatter, "{} {value}", parameter.name(*naming))
            }
            Source::Stated(text) => formatter.write_str(text),
            Source::Trial => Ok(()),
        }
    }
}
