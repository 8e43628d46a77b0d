//! Packages that are often wanted together, under one name.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Packages under one name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// What a user types: `finetune`.
    pub name: String,
    /// What it is for, in a sentence.
    pub summary: String,
    /// Releases of DeepSpeed, as a specifier; empty for any; `None` where DeepSpeed is not part of it.
    pub deepspeed: Option<String>,
    /// The packages, each maybe with a specifier: `transformers`, `trl>=0.9`.
    pub with: Vec<String>,
    /// Whether a part is compiled unless a fitting wheel exists, so that nvcc has to be there.
    pub compile: bool,
    /// Where this was read, or that we chose it.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Preset, "presets.yaml");

impl Table<Preset> {
    /// By name: `finetune`.
    pub fn preset(&self, name: &str) -> Option<&Preset> {
        self.all().iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use pep440_rs::VersionSpecifiers;

    use super::*;
    use crate::testing::catalog;

    fn table() -> &'static Table<Preset> {
        crate::testing::catalog().presets()
    }

    #[test]
    fn presets_name_known_packages() {
        assert!(table().all().is_sorted_by(|one, other| one.name < other.name));
        for row in table().all() {
            assert!(
                row.summary.ends_with('.') && row.source.to_string().len() > 6 && !row.checked.is_empty(),
                "{}",
                row.name
            );
            assert!(row.deepspeed.is_some() || !row.with.is_empty(), "{}", row.name);
            for text in row.deepspeed.iter() {
                VersionSpecifiers::from_str(text).unwrap();
            }
            for text in &row.with {
                let end = text.find(['<', '>', '=', '!', '~']).unwrap_or(text.len());
                let (name, versions) = text.split_at(end);
                let known =
                    ["torchvision", "torchaudio"].contains(&name) || catalog().package(name).is_some();
                assert!(known, "{}: {name}", row.name);
                VersionSpecifiers::from_str(versions).unwrap();
            }
        }
    }

    #[test]
    fn finds_presets_by_name() {
        assert_eq!(table().preset("rl").unwrap().with, ["stable-baselines3", "gymnasium"]);
        assert!(
            table().preset("rl").unwrap().deepspeed.is_none()
                && table().preset("train").unwrap().deepspeed.is_some()
        );
        assert!(table().preset("no-such-preset").is_none());
    }
}
