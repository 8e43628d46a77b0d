//! What a user asks the resolver for.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifiers};

use catalog::Catalog;
use catalog::images::Reference;
use facts::driver::DriverVersion;

use crate::parameter::Source;
pub use crate::specifier::{VERSION_LIMIT_BYTES, allows};

/// A request: requirements that must all hold, and the preference among the stacks that meet them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The requirements, in any order: the answer does not depend on it.
    pub requirements: Vec<Requirement>,
    /// What comes first among the stacks that meet all requirements.
    pub prefer: Prefer,
    /// Versions that are installed already, by package (`python`, `torch`, `numpy`): first choice under
    /// [`Prefer::Installed`].
    pub installed: BTreeMap<String, String>,
    /// The day of the question (`2026-11-21`), which decides what is past its end of life.
    pub today: String,
}

/// A requirement, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// `--cuda 12.1`, `GPU of node-a.json: NVIDIA L4`.
    pub source: Source,
    /// Part of the stack, and its required value.
    pub kind: RequirementKind,
}

/// The part of a stack or machine that a requirement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequirementKind {
    /// The CUDA of the torch build, and of the base image where it has one.
    Cuda(Versions),
    /// A CPU build of torch: a stack without CUDA.
    Cpu,
    /// The Python of the environment.
    Python(Versions),
    /// torch; a local version (`2.6.0+cu124`) names the build too.
    Torch(Versions),
    /// A package of the catalog, `deepspeed`, `torchvision` or `torchaudio`.
    Package(String, Versions),
    /// What pip takes and the catalog does not have, as pip reads it: another package, or what an extra of a
    /// known one requires. It is installed with the stack and excludes nothing.
    Unchecked(String),
    /// A GPU that the stack must run on.
    Gpu(Gpu),
    /// A driver that the stack must run on.
    Driver(DriverVersion),
    /// The system of the image, a key of `catalog::systems`: `ubuntu22.04`.
    System(String),
    /// The processor: `x86_64`, `aarch64`.
    Architecture(String),
    /// The base image, or none.
    Base(Base),
    /// CUDA code is compiled in the image: it needs nvcc, headers and a compiler that nvcc accepts.
    Compile,
}

impl RequirementKind {
    /// Whether it requires a CPU build of torch: as such, or by the name of the build (`2.6.0+cpu`).
    pub fn is_cpu(&self, catalog: &Catalog) -> bool {
        match self {
            RequirementKind::Cpu => true,
            RequirementKind::Torch(versions) => {
                versions.build.as_deref() == Some(catalog.torch().cpu_build())
            }
            _ => false,
        }
    }
}

/// The properties of a GPU that the resolver uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// `H100 SXM5 80GB`, or `sm_90` if only the compute capability is given.
    pub name: String,
    /// Compute capability, major and minor: `(9, 0)`.
    pub capability: (u32, u32),
    /// Whether it is a data-centre card, the kind on which forward compatibility works; `None` where it is
    /// not known.
    pub data_centre: Option<bool>,
    /// The oldest driver branch that supports it; `None`: unknown.
    pub driver_branch_min: Option<u32>,
    /// Whether only NVIDIA's open kernel module drives it: no driver older than that branch can.
    pub open_module_only: bool,
    /// The processor that it comes with: `aarch64`; `None`: it is in machines of several kinds, or unknown.
    pub processor: Option<String>,
}

/// A requirement on the base image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// Some image of a repository: `nvidia/cuda`, `pytorch/pytorch`, `python`, `ubuntu`.
    Repository(String),
    /// One image: `nvidia/cuda:12.1.1-devel-ubuntu22.04`.
    Image(Reference),
    /// None: the stack goes into a virtual environment on the machine itself.
    None,
}

impl Base {
    /// The repository of the required image.
    pub fn repository(&self) -> Option<&str> {
        match self {
            Base::Repository(name) => Some(name),
            Base::Image(reference) => Some(&reference.repository),
            Base::None => None,
        }
    }
}

/// What comes first among the stacks that meet all requirements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Prefer {
    /// The newest torch.
    #[default]
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// The installed versions, if they meet the requirements.
    Installed,
}

/// The allowed versions: PEP 440 specifiers (`>=2.4,<2.7`) or the beginning of a version (`12.1`,
/// `2.6.0+cu124`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// As the user wrote it; empty: any.
    pub text: String,
    /// A prefix (`12.1`) is `==12.1.*`.
    pub specifiers: VersionSpecifiers,
    /// The local part: `cu124`.
    pub build: Option<String>,
}

/// So many characters of a value that is too long are shown.
const SHOWN_CHARACTERS: usize = 40;

/// The first characters of a value that is too long to be shown.
pub fn start(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why a text is not a set of versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VersionsError {
    /// What is wrong, in a sentence.
    pub message: String,
    /// Byte offset of the first wrong character.
    pub at: usize,
}

impl Versions {
    /// Allows every version.
    pub fn any() -> Versions {
        Versions { text: String::new(), specifiers: VersionSpecifiers::empty(), build: None }
    }

    /// Whether a version is among them; the build is ignored.
    pub fn contain(&self, version: &Version) -> bool {
        self.specifiers.iter().all(|one| allows(one, version))
    }

    /// The version that was named, where one was: of `2.6`, `==2.6.0`, `~=2.6`, not of a range.
    pub fn named(&self) -> Option<Version> {
        let [one] = &self.specifiers[..] else { return None };
        matches!(
            one.operator(),
            Operator::Equal | Operator::EqualStar | Operator::TildeEqual | Operator::ExactEqual
        )
        .then(|| one.version().clone())
    }
}

impl FromStr for Versions {
    type Err = VersionsError;

    fn from_str(text: &str) -> Result<Versions, VersionsError> {
        let typed = text.trim();
        if typed.is_empty() || ["any", "latest", "newest", "*"].contains(&typed) {
            return Ok(Versions::any());
        }
        if typed.len() > VERSION_LIMIT_BYTES {
            return Err(VersionsError {
                message: format!(
                    "{:?} has {} characters; a version or range has at most {VERSION_LIMIT_BYTES}",
                    start(typed),
                    typed.chars().count()
                ),
                at: 0,
            });
        }
        let (plain, build) = match typed.split_once('+') {
            Some((plain, build)) if !build.is_empty() => (plain, Some(build.to_ascii_lowercase())),
            Some((plain, _)) => {
                return Err(VersionsError {
                    message: "a build is missing after the +".into(),
                    at: plain.len() + 1,
                });
            }
            None => (typed, None),
        };
        let begins_as_version = plain.starts_with(|first: char| first.is_ascii_digit());
        let specifiers = if begins_as_version && !plain.contains(',') {
            let prefix = plain.trim_end_matches(".*").trim_end_matches(".x");
            Version::from_str(prefix).map_err(|error| wrong(typed, prefix, &error.to_string()))?;
            VersionSpecifiers::from_str(&format!("=={prefix}.*"))
                // A pre-release or a post-release has no `.*`.
                .or_else(|_| VersionSpecifiers::from_str(&format!("=={prefix}")))
                .map_err(|error| wrong(typed, prefix, &error.to_string()))?
        } else {
            VersionSpecifiers::from_str(plain).map_err(|error| wrong(typed, plain, &error.to_string()))?
        };
        Ok(Versions { text: typed.to_owned(), specifiers, build })
    }
}

fn wrong(typed: &str, part: &str, _error: &str) -> VersionsError {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".,<>=!~* +".contains(c);
    let at = typed.find(|c| !allowed(c)).unwrap_or_else(|| first_wrong(part));
    VersionsError { message: format!("{typed:?} is neither a version (12.1) nor a range (>=2.4,<2.7)"), at }
}

/// Where the longest readable beginning ends.
fn first_wrong(part: &str) -> usize {
    (1..=part.len())
        .rev()
        .filter(|&end| part.is_char_boundary(end))
        .find(|&end| {
            VersionSpecifiers::from_str(&part[..end]).is_ok() || Version::from_str(&part[..end]).is_ok()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(requirement: &str, version: &str) -> bool {
        requirement.parse::<Versions>().unwrap().contain(&version.parse().unwrap())
    }

    #[test]
    fn a_version_of_a_hundred_kilobytes_is_not_parsed() {
        for text in [format!("3{}", "A".repeat(100_000)), format!("2.{}", "9".repeat(100_000))] {
            let error = text.parse::<Versions>().unwrap_err();
            assert!(error.message.len() < 150 && error.message.contains("at most 256"), "{error}");
        }
    }

    #[test]
    fn matches_version_prefixes_and_ranges() {
        assert!(contains("12.1", "12.1.1") && !contains("12.1", "12.10") && contains("12.1", "12.1"));
        assert!(!contains("12.1.5", "12.1") && contains("12.1.0", "12.1") && !contains("12.1.1", "12.1"));
        assert!(contains("2", "2.15.0") && contains("2.x", "2.15.0"));
        assert!(contains("2.6.0+cu124", "2.6.0"));
        assert_eq!("2.6.0+cu124".parse::<Versions>().unwrap().build.as_deref(), Some("cu124"));
        assert!(contains(">=2.4,<2.7", "2.6.0") && !contains(">=2.4,<2.7", "2.7.0"));
        assert!(contains("", "1.0") && contains("latest", "1.0"));
        assert!(contains("0.0.29.post3", "0.0.29.post3"));
    }

    #[test]
    fn invalid_versions_report_the_position() {
        for (text, at) in [("12,1;", 4), ("twelve", 0), (">=", 0), ("2.6.0+", 6), ("2..6", 1)] {
            let error = text.parse::<Versions>().unwrap_err();
            assert!(error.at <= at + 1, "{text}: {error:?}");
        }
    }
}
