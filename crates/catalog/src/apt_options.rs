//! Options of `apt-get install` that take a value: `catalog/apt_options.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// An option that takes a value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AptOption {
    /// `--option`.
    pub option: String,
    /// Its other spellings: `-o`.
    #[serde(default)]
    pub also: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(AptOption, "apt_options.yaml");

impl Table<AptOption> {
    /// Whether the word after an option, as it is written, is its value.
    pub fn takes_value(&self, option: &str) -> bool {
        self.all().iter().any(|row| row.option == option || row.also.iter().any(|also| also == option))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_spelling_counts() {
        let table = crate::testing::catalog().apt_options();
        for option in ["-o", "--option", "-t", "--default-release", "-c", "--solver"] {
            assert!(table.takes_value(option), "{option}");
        }
        for option in ["-y", "--no-install-recommends", "-qq", ""] {
            assert!(!table.takes_value(option), "{option}");
        }
    }
}
