//! Keys that `docker stack deploy` accepts in stack files, and `docker compose` at the top of its files:
//! `catalog/stack_keys.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A part of a stack file whose keys are listed; a key that is not listed is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// A file of `docker compose` itself.
    Compose,
    /// The stack file itself.
    Top,
    Service,
    /// `deploy.resources.reservations` of a service.
    Reservations,
}

/// A key that is accepted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackKey {
    /// Where it is a key.
    pub section: Section,
    /// `shm_size`.
    pub key: String,
    /// Whether it is read and dropped with a warning.
    #[serde(default)]
    pub ignored: bool,
    /// What to do in place of a key that is ignored; `None` where there is no substitute.
    pub instead: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(StackKey, "stack_keys.yaml");

impl Table<StackKey> {
    /// Whether a section may have a key.
    pub fn accepts(&self, section: Section, key: &str) -> bool {
        self.all().iter().any(|row| row.section == section && row.key == key)
    }

    /// The keys of a service that are dropped.
    pub fn ignored(&self) -> impl Iterator<Item = &StackKey> {
        self.all().iter().filter(|row| row.ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_of_services_are_ignored() {
        let table = crate::testing::catalog().stack_keys();
        assert!(table.ignored().all(|row| row.section == Section::Service));
        assert!(table.all().iter().all(|row| row.ignored || row.instead.is_none()));
        assert!(table.accepts(Section::Service, "volumes") && table.accepts(Section::Top, "volumes"));
        assert!(!table.accepts(Section::Reservations, "devices"));
        // The schema has it in no version, although compose does.
        assert!(!table.accepts(Section::Service, "group_add"));
    }
}
