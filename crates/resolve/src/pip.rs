//! What pip is given for one package.

use std::fmt;

use diagnostic::shell;

use super::parse;

/// A package as pip takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipRequirement {
    /// In one version: `torch==2.5.1+cu121`.
    Pin {
        /// `torch`.
        name: String,
        /// `2.5.1+cu121`.
        version: String,
    },
    /// A wheel by its address.
    Wheel {
        /// `flash-attn`.
        name: &'static str,
        /// Where it is.
        url: String,
    },
    /// As it was requested (`jieba`, `pandas>=2`): envdoc did not choose its version.
    Requested(String),
}

impl PipRequirement {
    /// A package in one version.
    pub fn pin(name: impl Into<String>, version: impl Into<String>) -> PipRequirement {
        PipRequirement::Pin { name: name.into(), version: version.into() }
    }

    /// The package's name.
    pub fn name(&self) -> String {
        match self {
            PipRequirement::Pin { name, .. } => name.clone(),
            PipRequirement::Wheel { name, .. } => (*name).to_owned(),
            PipRequirement::Requested(text) => parse::package_name(text),
        }
    }

    /// Whether it names a version.
    pub fn names_version(&self) -> bool {
        match self {
            PipRequirement::Pin { .. } => true,
            PipRequirement::Wheel { .. } => false,
            PipRequirement::Requested(text) => text.contains("=="),
        }
    }

    /// Whether it names an address.
    pub fn names_address(&self) -> bool {
        match self {
            PipRequirement::Pin { .. } => false,
            PipRequirement::Wheel { .. } => true,
            PipRequirement::Requested(text) => text.contains("://"),
        }
    }

    /// As a word of a command.
    pub fn word(&self) -> String {
        match self {
            PipRequirement::Wheel { url, .. } => url.clone(),
            other => shell::word(&other.to_string()).into_owned(),
        }
    }
}

/// As a line of a requirements file.
impl fmt::Display for PipRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PipRequirement::Pin { name, version } => write!(f, "{name}=={version}"),
            PipRequirement::Wheel { name, url } => write!(f, "{name} @ {url}"),
            PipRequirement::Requested(text) => f.write_str(text),
        }
    }
}

/// Several of them as words of a command.
pub fn words<'r>(requirements: impl IntoIterator<Item = &'r PipRequirement>) -> String {
    let words: Vec<String> = requirements.into_iter().map(PipRequirement::word).collect();
    words.join(" ")
}
