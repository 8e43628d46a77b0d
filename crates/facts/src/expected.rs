//! What the user said that a machine should be: `--expect gpus=8,driver>=550`.

use std::str::FromStr;

use diagnostic::suggest::nearest;
use pep440_rs::{Version, VersionSpecifiers, VersionSpecifiersParseError};

/// Why a `KEY=VALUE` of `--expect` was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectedError {
    /// There is no operator in it.
    #[error("{text:?} is not KEY=VALUE; keys: {}", KEYS.join(", "))]
    NoValue { text: String },
    /// The key is none of [`KEYS`].
    #[error("unknown key {key:?}{}; keys: {}", did_you_mean(*.near), KEYS.join(", "))]
    Key {
        /// The key that was given.
        key: String,
        /// The key that was most likely meant.
        near: Option<&'static str>,
    },
    /// `gpus` is not a number.
    #[error("gpus: {0:?} is not a number")]
    Gpus(String),
    /// `rdma` is not a truth value.
    #[error("rdma: {0:?} is neither true nor false")]
    Rdma(String),
    /// `role` is not a role.
    #[error("role: {0:?} is none of build-host, gpu-node, container")]
    Role(String),
    /// A version range that is too long to be one.
    #[error("{key}: the version range has {bytes} bytes; the limit is {RANGE_LIMIT_BYTES}")]
    TooLong {
        /// `driver`, `cuda` or `nccl`.
        key: String,
        /// How long it is.
        bytes: usize,
    },
    /// A version range that PEP 440 does not allow.
    #[error("{key}: {text:?} is not a version range: {error}")]
    Range {
        /// `driver`, `cuda` or `nccl`.
        key: String,
        /// The range as it was read.
        text: String,
        /// What is wrong with it.
        error: VersionSpecifiersParseError,
    },
}

/// The longest range that is parsed, in bytes.
const RANGE_LIMIT_BYTES: usize = 256;

/// What a machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Builds images, runs no GPU work.
    BuildHost,
    /// Has GPUs and runs containers on them.
    GpuNode,
    /// A container that runs GPU work.
    Container,
}

impl Role {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::BuildHost => "build-host",
            Role::GpuNode => "gpu-node",
            Role::Container => "container",
        }
    }
}

/// Expectations, none by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    /// `gpus=8`.
    pub gpus: Option<u32>,
    /// `driver>=550`: compared number by number.
    pub driver: Option<VersionSpecifiers>,
    /// `cuda=12.4`: the CUDA version of the driver.
    pub cuda: Option<VersionSpecifiers>,
    /// `nccl>=2.20`: every NCCL that a program would load.
    pub nccl: Option<VersionSpecifiers>,
    /// `rdma=true`.
    pub rdma: Option<bool>,
    /// `role=gpu-node`.
    pub role: Option<Role>,
}

/// The keys, for messages.
pub const KEYS: &[&str] = &["gpus", "driver", "cuda", "nccl", "rdma", "role"];

/// What operators between key and value begin with.
const OPERATORS: [char; 5] = ['=', '<', '>', '!', '~'];

/// The key of `KEY>=VALUE`.
pub fn key(text: &str) -> &str {
    text.split(OPERATORS).next().unwrap_or_default().trim()
}

impl Expected {
    /// Adds one `KEY=VALUE` or `KEY>=VALUE`.
    pub fn add(&mut self, text: &str) -> Result<(), ExpectedError> {
        let at = text.find(OPERATORS).ok_or_else(|| ExpectedError::NoValue { text: text.to_owned() })?;
        let (key, rest) = (text[..at].trim(), text[at..].trim());
        let value = rest.trim_start_matches('=').trim();
        match key {
            "gpus" => self.gpus = Some(value.parse().map_err(|_| ExpectedError::Gpus(value.to_owned()))?),
            "driver" => self.driver = Some(specifiers(key, rest)?),
            "cuda" => self.cuda = Some(specifiers(key, rest)?),
            "nccl" => self.nccl = Some(specifiers(key, rest)?),
            "rdma" => self.rdma = Some(value.parse().map_err(|_| ExpectedError::Rdma(value.to_owned()))?),
            "role" => self.role = Some(role(value)?),
            _ => {
                return Err(ExpectedError::Key {
                    key: key.to_owned(),
                    near: nearest(key, KEYS.iter().copied()),
                });
            }
        }
        Ok(())
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(" (did you mean {near}?)"))
}

fn role(value: &str) -> Result<Role, ExpectedError> {
    [Role::BuildHost, Role::GpuNode, Role::Container]
        .into_iter()
        .find(|role| role.name() == value)
        .ok_or_else(|| ExpectedError::Role(value.to_owned()))
}

/// `=12.4` means 12.4 and every patch release of it; the other operators are those of PEP 440.
fn specifiers(key: &str, text: &str) -> Result<VersionSpecifiers, ExpectedError> {
    if text.len() > RANGE_LIMIT_BYTES {
        return Err(ExpectedError::TooLong { key: key.to_owned(), bytes: text.len() });
    }
    let text = match text.strip_prefix('=') {
        Some(value) if !value.starts_with('=') => format!("=={}.*", value.trim().trim_end_matches(".*")),
        _ => text.to_owned(),
    };
    VersionSpecifiers::from_str(&text).map_err(|error| ExpectedError::Range {
        key: key.to_owned(),
        text,
        error,
    })
}

/// Whether a dotted version of any length (a driver's `550.144.03`, CUDA's `12.4`) lies in a range.
pub fn contains(range: &VersionSpecifiers, version: &str) -> Option<bool> {
    Version::from_str(version).ok().map(|version| range.contains(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(text: &str) -> Result<Expected, ExpectedError> {
        let mut expected = Expected::default();
        expected.add(text).map(|()| expected)
    }

    #[test]
    fn expectations_are_read() {
        assert_eq!(expect("gpus=8").unwrap().gpus, Some(8));
        assert_eq!(expect("rdma=true").unwrap().rdma, Some(true));
        assert_eq!(expect("role=gpu-node").unwrap().role, Some(Role::GpuNode));
        let driver = expect("driver>=550").unwrap().driver.unwrap();
        assert_eq!(contains(&driver, "550.144.03"), Some(true));
        assert_eq!(contains(&driver, "535.183.01"), Some(false));
        let cuda = expect("cuda=12.4").unwrap().cuda.unwrap();
        assert_eq!(contains(&cuda, "12.4.1"), Some(true));
        assert_eq!(contains(&cuda, "12.4"), Some(true));
        assert_eq!(contains(&cuda, "12.5"), Some(false));
    }

    #[test]
    fn invalid_expectations_are_explained() {
        let cases = [
            ("gpus", "is not KEY=VALUE"),
            ("gpu=8", "did you mean gpus?"),
            ("gpus=eight", "is not a number"),
            ("rdma=yes", "neither true nor false"),
            ("role=worker", "none of build-host, gpu-node, container"),
            ("driver>=new", "is not a version range"),
        ];
        for (text, expected) in cases {
            let error = expect(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
