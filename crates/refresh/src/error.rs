//! Why a package index or the catalog's text gave no rows.

use pep440_rs::VersionSpecifiersParseError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Request(#[from] docker::Error),
    #[error("HTTP status {0}")]
    Status(u16),
    /// No index has the project.
    #[error("the package index has no {0}")]
    NoProject(String),
    /// The answer is no project page of PEP 691.
    #[error("the answer is not a package index page: {0}")]
    Page(#[source] serde_json::Error),
    /// The server ignores `Range`.
    #[error("the server does not support range requests, and envdoc does not download whole files")]
    NoRanges,
    /// The wheel is damaged.
    #[error("cannot read the wheel: {0}")]
    Wheel(#[from] zip::result::ZipError),
    /// The METADATA of a wheel is damaged.
    #[error("cannot read METADATA in the wheel: {0}")]
    Metadata(#[source] std::io::Error),
    /// The wheel has no METADATA.
    #[error("the wheel has no METADATA")]
    NoMetadata,
    /// The wheel's central directory is over the limit.
    #[error("the file list of the wheel is larger than {} MiB", .limit_bytes >> 20)]
    TooLarge {
        /// Largest list that is read.
        limit_bytes: u64,
    },
    /// Too many requests would be needed.
    #[error("METADATA was not found in the wheel after {0} range requests")]
    TooManyRanges(u32),
    /// The source distribution has no PKG-INFO where it belongs.
    #[error("the source distribution has no PKG-INFO in its first {} MiB", .limit_bytes >> 20)]
    NoPackageInfo {
        /// How much was searched.
        limit_bytes: u64,
    },
    /// Nothing to read metadata from.
    #[error("it has neither a wheel for Linux nor a source distribution")]
    NoDistribution,
    /// A torch without wheels.
    #[error("it has no wheel for Linux x86_64")]
    NoWheel,
    /// METADATA names another release.
    #[error("the metadata is not that of {name} {version}")]
    OtherMetadata {
        /// The project.
        name: String,
        /// The release that was asked for.
        version: String,
    },
    /// A `Requires-Dist` line cannot be parsed.
    #[error("cannot parse the requirement {text:?}: {reason}")]
    Requirement { text: String, reason: String },
    /// `Requires-Python` cannot be parsed.
    #[error("cannot parse Requires-Python: {0}")]
    RequiresPython(#[from] VersionSpecifiersParseError),
    /// There is no such Python.
    #[error(transparent)]
    Environment(#[from] resolve::marker::EnvironmentError),
    /// The catalog's own text cannot be parsed.
    #[error("cannot parse the catalog file: {0}")]
    Catalog(#[from] serde_yaml::Error),
    /// Neither the user nor pip names an index.
    #[error("no package index is configured, and pip's default is unknown: {0}")]
    NoIndex(#[from] PipError),
}

/// Why pip did not tell its default index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipError {
    /// No python3 on PATH.
    #[error("python3 not found")]
    NoPython,
    /// pip is missing or broken; the last line of the traceback.
    #[error("{0}")]
    Failed(String),
}
