//! Python packages of the deep-learning stack besides torch and DeepSpeed: their releases and what each requires.
//!
//! One file a package, `catalog/packages/<name>.yaml`, parsed when first asked for. Releases with the same requirements share a
//! row. Only requirements between packages of the catalog (torch, deepspeed and these) are kept: the rest is pip's business.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::file::{self, Sources};

/// Releases of one package that differ in nothing but their version and day.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Version → day of its upload; an empty text where the day is not known. Not ordered: PEP 440 orders them.
    pub releases: BTreeMap<String, String>,
    /// `Requires-Python`; `None`: it declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// The Pythons (`3.12`, `3.13t`) for which there are wheels for Linux x86_64; `None`: one wheel serves every Python.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pythons: Option<Vec<String>>,
    /// The glibc that its Linux x86_64 wheels ask for by their tag (`2.28`); `None` for wheels without compiled code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glibc: Option<String>,
    /// True where PyPI has a source distribution only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_only: bool,
    /// Whether there is a wheel for Linux aarch64 (or for any machine); `None` where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aarch64: Option<bool>,
    /// Package → specifier; an empty text is "any version". Requirements behind an extra are left out; those behind a marker
    /// count where the marker holds on Linux with CPython.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, String>,
    /// True where the index marks it as yanked: never chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yanked: bool,
    /// What else is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where this was read.
    pub source: String,
    /// When.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

file::rows!(Row);

/// One package.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its normalised name: `flash-attn`.
    pub name: String,
    /// What it is, in a few words.
    pub summary: String,
    /// The day on which the rows were held against their sources.
    pub checked: String,
    /// True where releases between those listed are left out; false where every final release since the oldest row is here.
    pub sample: bool,
    /// Sources that many rows share.
    #[serde(default)]
    pub sources: Sources,
    /// Its releases.
    pub rows: Vec<Row>,
}

/// Name and file of every package.
const FILES: &[(&str, &str)] = &[("numpy", include_str!("../../catalog/packages/numpy.yaml"))];

/// The names of all packages, in the order of the alphabet.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The package with this normalised name.
pub fn package(name: &str) -> Option<&'static Package> {
    static PACKAGES: [OnceLock<Package>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    let place = FILES.iter().position(|(known, _)| *known == name)?;
    Some(PACKAGES[place].get_or_init(|| {
        let (name, text) = FILES[place];
        let mut package: Package = file::parse(&format!("packages/{name}.yaml"), text);
        file::complete(&mut package.rows, &package.checked, &package.sources);
        package
    }))
}
