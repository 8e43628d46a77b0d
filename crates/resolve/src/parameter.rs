//! What a request is made of: options of the command line, which are keys in an image file.

use std::fmt;

use crate::respecify::respecify_text;

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

/// A requirement that a file of a project declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declaration {
    /// Relative to the working directory.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What is written there: `torch==2.4.1`.
    pub text: String,
}

impl Declaration {
    /// The same declaration for another version; `None`: its text is not a name with versions.
    pub fn with_version(&self, version: &str) -> Option<Declaration> {
        Some(Declaration { text: respecified(&self.text, version)?, ..self.clone() })
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{} {}", self.file, self.line, self.text)
    }
}

/// `torch==2.4.1` with another version; `3.9` of a `.python-version` is a version alone.
fn respecified(text: &str, version: &str) -> Option<String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(version.to_owned());
    }
    let at = text.find(['=', '<', '>', '!', '~'])?;
    let new = respecify_text(&text[at..], &version.parse().ok()?)?;
    Some(format!("{}{new}", &text[..at]))
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
    /// A line of a project's file: `requirements.txt:3 torch==2.4.1`.
    Declared(Declaration),
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
            Source::Declared(_) | Source::Stated(_) | Source::Trial => None,
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
            Source::Declared(declaration) => declaration.fmt(formatter),
            Source::Stated(text) => formatter.write_str(text),
            Source::Trial => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_keep_their_form() {
        for (text, expected) in [
            ("torch==2.4.1", Some("torch==2.7.1")),
            ("torch == 2.4.1", Some("torch == 2.7.1")),
            ("torch==2.4.*", Some("torch==2.7.*")),
            ("torch~=2.4.0", Some("torch~=2.7.1")),
            ("3.9", Some("2.7.1")),
            ("torch[x] >=2.1,<2.5", Some("torch[x] >=2.1,<2.8")),
            ("torch===2.4.1", Some("torch===2.7.1")),
            ("torch==2.4.1,!=2.4.0", Some("torch==2.7.1,!=2.4.0")),
            ("torch", None),
        ] {
            assert_eq!(respecified(text, "2.7.1").as_deref(), expected, "{text}");
        }
        assert_eq!(respecified("torch==2.4.1+cu121", "2.7.1+cu121").as_deref(), Some("torch==2.7.1+cu121"));
    }
}
