//! The options of sbatch: `catalog/sbatch_options.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SbatchOption {
    /// Its long name: `nodes`.
    pub option: String,
    /// Its short form, one letter: `N`.
    pub letter: Option<String>,
    /// Whether it takes a value. Others take none, or one behind `=` only.
    #[serde(default)]
    pub value: bool,
    /// The option that it is another name of.
    pub same_as: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(SbatchOption, "sbatch_options.yaml");

impl SbatchOption {
    /// Its long name, or that of the option that it is another name of.
    pub fn name(&self) -> &str {
        self.same_as.as_deref().unwrap_or(&self.option)
    }
}

impl Table<SbatchOption> {
    /// Every long name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().iter().map(|row| row.option.as_str())
    }

    /// The option as getopt finds it: by its whole name, or by a beginning that only one has.
    pub fn long(&self, typed: &str) -> Option<&SbatchOption> {
        let exact = self.all().iter().find(|row| row.option == typed);
        let mut starting = self.all().iter().filter(|row| row.option.starts_with(typed) && !typed.is_empty());
        let only = starting.next().filter(|_| starting.next().is_none());
        exact.or(only)
    }

    /// The option with this letter.
    pub fn short(&self, letter: &str) -> Option<&SbatchOption> {
        self.all().iter().find(|row| row.letter.as_deref() == Some(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_as_getopt_finds_them() {
        let table = crate::testing::catalog().sbatch_options();
        let name = |typed: &str| table.long(typed).map(SbatchOption::name);
        assert_eq!(name("job"), Some("job-name"));
        assert_eq!(name("nodes"), Some("nodes"));
        assert_eq!(name("tasks-per-node"), Some("ntasks-per-node"));
        assert_eq!(name("gpu"), None, "several begin with it");
        assert_eq!(table.short("N").map(SbatchOption::name), Some("nodes"));
    }

    #[test]
    fn letters_are_unique_and_other_names_are_those_of_an_option() {
        let table = crate::testing::catalog().sbatch_options();
        let mut letters: Vec<&str> = table.all().iter().filter_map(|row| row.letter.as_deref()).collect();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count);
        for row in table.all() {
            assert!(row.same_as.as_deref().is_none_or(|name| table.names().any(|known| known == name)));
        }
    }
}
