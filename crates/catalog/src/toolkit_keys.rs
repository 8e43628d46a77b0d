//! The keys of the container toolkit's config.toml: `catalog/toolkit_keys.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolkitKey {
    /// The table that it belongs to: `nvidia-container-runtime.modes.cdi`; empty at the top of the file.
    #[serde(default)]
    pub section: String,
    /// `log-level`.
    pub key: String,
    pub kind: Kind,
    /// What its text may be; empty where any text is allowed.
    #[serde(default)]
    pub words: Vec<String>,
    /// Whether the text is a list of these words, separated by commas.
    #[serde(default)]
    pub list: bool,
    /// Whether the toolkit reads these words in any case.
    #[serde(default)]
    pub any_case: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// What the value of a key must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Text,
    Texts,
    /// `true` or `false`.
    Truth,
}

file::table!(ToolkitKey, "toolkit_keys.yaml");

impl Table<ToolkitKey> {
    /// The key of a section.
    pub fn key(&self, section: &str, key: &str) -> Option<&ToolkitKey> {
        self.all().iter().find(|row| row.section == section && row.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_have_words_and_no_key_is_there_twice() {
        let table = crate::testing::catalog().toolkit_keys();
        for row in table.all() {
            assert!(row.words.is_empty() || row.kind == Kind::Text, "{}", row.key);
            assert!(
                !row.any_case || row.words.iter().all(|word| *word == word.to_lowercase()),
                "{}",
                row.key
            );
            let same = table.all().iter().filter(|one| one.section == row.section && one.key == row.key);
            assert_eq!(same.count(), 1, "{}", row.key);
        }
        assert_eq!(table.key("", "disable-require").unwrap().kind, Kind::Truth);
    }
}
