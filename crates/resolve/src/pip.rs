//! What pip is given for one package.

use std::fmt;

use diagnostic::shell;
use pep440_rs::Operator;
use pep508_rs::VersionOrUrl;

use super::{marker, parse};

/// A package in one version, as pip takes it: `torch==2.5.1+cu121`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// `torch`.
    pub name: String,
    /// `2.5.1+cu121`.
    pub version: String,
}

impl Pin {
    /// The pin in a requirement that somebody else wrote; `None` where it allows more than one version.
    pub fn parse(text: &str) -> Option<Pin> {
        let requirement = marker::requirement(text.trim()).ok()?;
        let Some(VersionOrUrl::VersionSpecifier(versions)) = &requirement.version_or_url else { return None };
        let pinning = |operator| matches!(operator, Operator::Equal | Operator::ExactEqual);
        let pin = versions.iter().find(|one| pinning(*one.operator()))?;
        Some(Pin { name: parse::package_name(text), version: pin.version().to_string() })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

/// A package as pip takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipRequirement {
    /// In the version that envdoc chose.
    Pin(Pin),
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
        PipRequirement::Pin(Pin { name: name.into(), version: version.into() })
    }

    /// The package's name.
    pub fn name(&self) -> String {
        match self {
            PipRequirement::Pin(pin) => pin.name.clone(),
            PipRequirement::Wheel { name, .. } => (*name).to_owned(),
            PipRequirement::Requested(text) => parse::package_name(text),
        }
    }

    /// The one version that it allows, where it says so.
    pub fn pinned(&self) -> Option<Pin> {
        match self {
            PipRequirement::Pin(pin) => Some(pin.clone()),
            PipRequirement::Wheel { .. } => None,
            PipRequirement::Requested(text) => Pin::parse(text),
        }
    }

    /// Whether it names an address, so that no index is asked for it.
    pub fn names_address(&self) -> bool {
        match self {
            PipRequirement::Pin(_) => false,
            PipRequirement::Wheel { .. } => true,
            PipRequirement::Requested(text) => {
                let address = marker::requirement(text).ok().and_then(|one| one.version_or_url);
                matches!(address, Some(VersionOrUrl::Url(_)))
            }
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
            PipRequirement::Pin(pin) => pin.fmt(f),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_allows_one_version() {
        let pin = |text: &str| Pin::parse(text).map(|pin| pin.to_string());
        assert_eq!(pin("Flash_Attn ==2.8.3"), Some("flash-attn==2.8.3".into()));
        assert_eq!(pin("torch===2.5.1+cu121").as_deref(), Some("torch==2.5.1+cu121"));
        assert_eq!(pin("trl[peft]==0.9; python_version >= '3.10'").as_deref(), Some("trl==0.9"));
        for text in
            ["numpy", "numpy>=2", "numpy==2.*", "numpy!=2.1", "jieba; python_version == '3.12'", "-e ."]
        {
            assert_eq!(pin(text), None, "{text}");
        }
    }

    #[test]
    fn an_address_is_no_version() {
        let requested = |text: &str| PipRequirement::Requested(text.into());
        let wheel = requested("jieba @ https://wheels.example/jieba-1-py3-none-any.whl");
        assert!(wheel.names_address() && wheel.pinned().is_none());
        assert!(!requested("jieba==1").names_address());
    }
}
