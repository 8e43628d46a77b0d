//! Python packages of the deep-learning stack besides torch and DeepSpeed: their releases and what each
//! requires.
//!
//! One file a package, `catalog/packages/<name>.yaml`, parsed when first asked for. Releases with the same
//! requirements share a row. Only requirements between packages of the catalog (torch, deepspeed and these)
//! are kept: the rest is pip's business.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::elsewhere::Elsewhere;
use super::file::{self, SharedSources, text};
pub use super::package_facts::{Compiled, Cuda, CudaUse, Incompatible, Indirect, WithoutWheel};
use crate::Sources;

/// Releases of one package that differ in nothing but their version and day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Version → day of its upload; an empty text where the day is not known. Not ordered: PEP 440 orders
    /// them.
    pub releases: BTreeMap<String, String>,
    /// `Requires-Python`; `None`: it declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// The Pythons (`3.12`, `3.13t`) for which there are wheels for Linux x86_64; `None`: one wheel serves
    /// every Python.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pythons: Option<Vec<String>>,
    /// The glibc that its Linux x86_64 wheels ask for by their tag (`2.28`); `None` for wheels without
    /// compiled code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glibc: Option<String>,
    /// True where PyPI has a source distribution only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_only: bool,
    /// Whether there is a wheel for Linux aarch64 (or for any machine); `None` where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aarch64: Option<bool>,
    /// Package → specifier; an empty text is "any version". Requirements behind an extra are left out; those
    /// behind a marker count where it holds on Linux x86_64 with the newest CPython that has wheels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, String>,
    /// What differs from `requires` on other Pythons and processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// True where the index marks it as yanked: never chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yanked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
}

file::rows!(Row);

impl Row {
    /// What is required of a package in some environment: what the row says, then what differs from it.
    pub fn requirements_anywhere(&self, package: &str) -> impl Iterator<Item = &str> {
        let all = std::iter::once(&self.requires).chain(self.elsewhere.iter().map(|one| &one.requires));
        all.filter_map(move |requires| requires.get(package)).map(String::as_str)
    }

    /// What is required of a package in an environment. `None`: nothing, or it depends on a Python or a
    /// processor that is not known.
    pub fn requirement(
        &self,
        package: &str,
        python: Option<&str>,
        architecture: Option<&str>,
    ) -> Option<&str> {
        let mut answer = self.requires.get(package);
        for one in self.elsewhere.iter().filter(|one| one.mentions(package)) {
            match one.covers(python, architecture) {
                Some(false) => {}
                Some(true) => answer = one.requires.get(package),
                None => return None,
            }
        }
        answer.map(String::as_str)
    }
}

/// A package on PyPI, with all releases that the catalog has.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its normalised name: `flash-attn`.
    pub name: String,
    /// What it is, in a few words.
    pub summary: String,
    /// The day on which the rows were held against their sources.
    pub checked: String,
    /// True where releases between those listed are left out; false where every final release since the
    /// oldest row is here.
    pub sample: bool,
    /// True where the index has final releases before the oldest row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub older_releases: bool,
    /// What else to know of it, which no requirement says; shown where it is asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Why it needs a C compiler and the headers of Python when it runs; `None`: it is not known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_compiler: Option<String>,
    /// What it needs CUDA for; `None`: for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<Cuda>,
    /// Sources that many rows share.
    #[serde(default)]
    pub sources: SharedSources,
    /// What it does not go together with, beyond the requirements of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incompatible: Vec<Incompatible>,
    /// What the compiled code in its wheels needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compiled: Vec<Compiled>,
    /// What it requires of packages of the catalog through others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indirect: Vec<Indirect>,
    /// Where something that it requires, which the catalog does not have, has no wheel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_wheels: Vec<WithoutWheel>,
    /// Its releases.
    pub rows: Vec<Row>,
}

/// Name and file of every package.
pub(super) const FILES: &[(&str, &str)] = &[
    ("accelerate", text!("packages/accelerate.yaml")),
    ("bitsandbytes", text!("packages/bitsandbytes.yaml")),
    ("datasets", text!("packages/datasets.yaml")),
    ("flash-attn", text!("packages/flash-attn.yaml")),
    ("flashinfer-cubin", text!("packages/flashinfer-cubin.yaml")),
    ("flashinfer-python", text!("packages/flashinfer-python.yaml")),
    ("gymnasium", text!("packages/gymnasium.yaml")),
    ("huggingface-hub", text!("packages/huggingface-hub.yaml")),
    ("liger-kernel", text!("packages/liger-kernel.yaml")),
    ("lightning", text!("packages/lightning.yaml")),
    ("megatron-core", text!("packages/megatron-core.yaml")),
    ("numba", text!("packages/numba.yaml")),
    ("numpy", text!("packages/numpy.yaml")),
    ("peft", text!("packages/peft.yaml")),
    ("pydantic", text!("packages/pydantic.yaml")),
    ("pydantic-core", text!("packages/pydantic-core.yaml")),
    ("pytorch-lightning", text!("packages/pytorch-lightning.yaml")),
    ("ray", text!("packages/ray.yaml")),
    ("setuptools", text!("packages/setuptools.yaml")),
    ("sgl-kernel", text!("packages/sgl-kernel.yaml")),
    ("sglang", text!("packages/sglang.yaml")),
    ("sglang-kernel", text!("packages/sglang-kernel.yaml")),
    ("stable-baselines3", text!("packages/stable-baselines3.yaml")),
    ("tokenizers", text!("packages/tokenizers.yaml")),
    ("torchao", text!("packages/torchao.yaml")),
    ("transformer-engine", text!("packages/transformer-engine.yaml")),
    ("transformer-engine-cu12", text!("packages/transformer-engine-cu12.yaml")),
    ("transformer-engine-cu13", text!("packages/transformer-engine-cu13.yaml")),
    ("transformers", text!("packages/transformers.yaml")),
    ("triton", text!("packages/triton.yaml")),
    ("trl", text!("packages/trl.yaml")),
    ("vllm", text!("packages/vllm.yaml")),
    ("xformers", text!("packages/xformers.yaml")),
];

/// The names of all packages, in the order of the alphabet.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

impl Package {
    /// Whether no release works without CUDA.
    pub fn requires_cuda(&self) -> bool {
        self.cuda.as_ref().is_some_and(|cuda| cuda.use_of == CudaUse::Required)
    }
}

file::sourced!(Package, [rows, cuda, incompatible, compiled, indirect, without_wheels]);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::str::FromStr;

    use pep440_rs::{Version, VersionSpecifiers};

    use super::*;
    use crate::testing::catalog;

    /// Packages with a table of their own.
    const ELSEWHERE: &[&str] = &["torch", "torchvision", "torchaudio", "deepspeed"];

    fn specifier(package: &str, text: &str) -> VersionSpecifiers {
        VersionSpecifiers::from_str(text).unwrap_or_else(|error| panic!("{package}: {text:?}: {error}"))
    }

    fn date(text: &str) -> bool {
        text.parse::<jiff::civil::Date>().is_ok()
    }

    fn known(name: &str) -> bool {
        ELSEWHERE.contains(&name) || names().any(|known| known == name)
    }

    #[test]
    fn every_file_is_a_package() {
        let names: Vec<&str> = names().collect();
        assert!(names.is_sorted(), "{names:?}");
        for name in names {
            let package = catalog().package(name).unwrap();
            assert_eq!(package.name, name);
            assert!(
                !package.rows.is_empty() && !package.summary.is_empty() && date(&package.checked),
                "{name}"
            );
        }
        assert!(catalog().package("no-such-package").is_none());
    }

    #[test]
    fn releases_are_unique_final_versions() {
        for name in names() {
            let mut seen = BTreeSet::new();
            for (version, day) in catalog().package(name).unwrap().rows.iter().flat_map(|row| &row.releases) {
                let parsed =
                    Version::from_str(version).unwrap_or_else(|error| panic!("{name} {version}: {error}"));
                assert!(!parsed.any_prerelease() && !parsed.is_local(), "{name} {version}");
                assert!(seen.insert(parsed), "{name} {version} stands twice");
                assert!(day.is_empty() || date(day), "{name} {version}: {day:?}");
            }
        }
    }

    #[test]
    fn the_row_with_the_newest_release_is_last() {
        for name in names() {
            let newest: Vec<Version> = catalog().package(name).unwrap().rows.iter().map(newest).collect();
            assert!(newest.is_sorted(), "{name}: {newest:?}");
        }
    }

    fn newest(row: &Row) -> Version {
        row.releases.keys().map(|version| Version::from_str(version).unwrap()).max().unwrap()
    }

    #[test]
    fn equal_releases_share_a_row() {
        for name in names() {
            let rows = &catalog().package(name).unwrap().rows;
            let bodies: BTreeSet<String> = rows
                .iter()
                .map(|row| serde_json::to_string(&Row { releases: BTreeMap::new(), ..row.clone() }).unwrap())
                .collect();
            assert_eq!(bodies.len(), rows.len(), "{name}");
        }
    }

    #[test]
    fn rows_have_valid_pythons_requirements_and_sources() {
        for name in names() {
            for row in &catalog().package(name).unwrap().rows {
                let label = format!("{name} {}", newest(row));
                assert!(row.source.to_string().len() > 6 && date(&row.checked), "{label}");
                let python = row.python.as_deref().map(|text| specifier(&label, text));
                for one in row.pythons.iter().flatten() {
                    let version = Version::from_str(one.trim_end_matches('t')).unwrap();
                    // `>3.12.0` admits 3.12.1: ask for a late patch release, too.
                    let late = Version::from_str(&format!("{}.30", one.trim_end_matches('t'))).unwrap();
                    let admitted = python
                        .as_ref()
                        .is_none_or(|python| python.contains(&version) || python.contains(&late));
                    assert!(admitted, "{label}: a wheel for Python {one}");
                }
                assert!(row.pythons.as_ref().is_none_or(|list| !list.is_empty()), "{label}");
                assert!(!(row.source_only && (row.pythons.is_some() || row.glibc.is_some())), "{label}");
                for (other, wanted) in row.elsewhere.iter().flat_map(|one| &one.requires).chain(&row.requires)
                {
                    assert!(known(other) && other != name, "{label} requires {other}");
                    specifier(&label, wanted);
                }
            }
        }
    }

    #[test]
    fn incompatibilities_speak_of_known_packages() {
        for name in names() {
            let package = catalog().package(name).unwrap();
            for one in &package.incompatible {
                assert!(known(&one.with) && one.with != name, "{name}: {}", one.with);
                let releases = specifier(name, &one.releases);
                specifier(name, &one.versions);
                assert!(
                    one.effect.len() > 10 && one.source.to_string().len() > 6 && date(&one.checked),
                    "{name}: {one:?}"
                );
                let concerned = package.rows.iter().flat_map(|row| row.releases.keys());
                assert!(
                    concerned
                        .map(|version| Version::from_str(version).unwrap())
                        .any(|it| releases.contains(&it)),
                    "{name}: no release is {releases}"
                );
            }
        }
    }
}
