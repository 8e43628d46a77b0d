//! Options of `docker run` and `docker build`: `catalog/docker_options.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// The command that takes an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DockerCommand {
    /// `docker run`, `docker create`.
    Run,
    /// `docker build`, `docker buildx build`.
    Build,
}

/// An option.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DockerOption {
    /// Whose it is.
    pub command: DockerCommand,
    /// `--env`.
    pub option: String,
    /// Its letter: `-e`.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether it takes a value.
    #[serde(default)]
    pub value: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(DockerOption, "docker_options.yaml");

impl Table<DockerOption> {
    /// The option of a command, as it is written: `--env`, `-e`.
    pub fn option(&self, command: DockerCommand, written: &str) -> Option<&DockerOption> {
        let mut own = self.all().iter().filter(|row| row.command == command);
        own.find(|row| row.option == written || row.also.iter().any(|also| also == written))
    }

    /// The option of a command with this letter: `e`.
    pub fn letter(&self, command: DockerCommand, letter: char) -> Option<&DockerOption> {
        let is = |also: &String| also.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter]));
        self.all().iter().find(|row| row.command == command && row.also.iter().any(is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DockerCommand::{Build, Run};

    #[test]
    fn options_are_those_of_the_command() {
        let table = crate::testing::catalog().docker_options();
        let value = |command, written: &str| table.option(command, written).map(|row| row.value);
        assert_eq!(
            (value(Run, "--gpus"), value(Run, "-e"), value(Run, "--rm")),
            (Some(true), Some(true), Some(false))
        );
        assert_eq!(
            (value(Build, "--gpus"), value(Build, "-t"), value(Run, "-t")),
            (None, Some(true), Some(false))
        );
        assert_eq!(table.letter(Run, 'e').map(|row| row.option.as_str()), Some("--env"));
        assert!(table.letter(Build, 'e').is_none() && table.letter(Run, '-').is_none());
    }

    #[test]
    fn letters_are_unique_in_a_command() {
        let mut all: Vec<(bool, &str)> = Vec::new();
        for row in crate::testing::catalog().docker_options().all() {
            assert!(row.option.starts_with("--"), "{}", row.option);
            all.extend(row.also.iter().map(|also| (row.command == Run, also.as_str())));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
