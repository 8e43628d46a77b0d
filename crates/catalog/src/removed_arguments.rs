//! Keyword arguments that a library no longer takes: `catalog/removed_arguments.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedArgument {
    /// The normalised name on the package index: `pytorch-lightning`.
    pub package: String,
    /// Its keyword: `evaluation_strategy`.
    pub argument: String,
    /// The first release without it: `4.51.0`.
    pub removed_in: String,
    /// What takes it, by the names under which programs import it: `transformers.TrainingArguments`.
    pub callables: Vec<String>,
    /// What to write instead, in the imperative.
    pub replacement: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(RemovedArgument, "removed_arguments.yaml");

#[cfg(test)]
mod tests {
    #[test]
    fn rows_are_whole() {
        for row in crate::testing::catalog().removed_arguments().all() {
            assert!(!row.callables.is_empty(), "{}", row.argument);
            assert!(row.removed_in.split('.').all(|part| part.parse::<u32>().is_ok()), "{}", row.removed_in);
            assert!(!row.replacement.ends_with('.'), "{}", row.argument);
        }
    }
}
