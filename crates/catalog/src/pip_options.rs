//! Options of `pip install` and `uv pip install` that take a value: `catalog/pip_options.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// An option that takes a value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipOption {
    /// `--requirement`.
    pub option: String,
    /// Its other spellings: `-r`.
    #[serde(default)]
    pub also: Vec<String>,
    /// Where this was read: whose option it is.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(PipOption, "pip_options.yaml");

impl Table<PipOption> {
    /// Whether the word after an option, as it is written, is its value.
    pub fn takes_value(&self, option: &str) -> bool {
        self.all().iter().any(|row| row.option == option || row.also.iter().any(|also| also == option))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn pip_option_spellings_are_known_and_unique() {
        let table = crate::testing::catalog().pip_options();
        for option in ["--requirement", "-r", "--root-user-action", "--torch-backend", "-P"] {
            assert!(table.takes_value(option), "{option}");
        }
        assert!(!table.takes_value("--no-deps") && !table.takes_value("-U"));
        let mut all: Vec<&str> = Vec::new();
        for row in table.all() {
            all.push(&row.option);
            all.extend(row.also.iter().map(String::as_str));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
